//! The root of the library stays small enough to be read.

use std::{fs, path::Path};

/// Names that the root exports: `pub mod` and what is named in `pub use`.
fn exported(source: &str) -> Vec<String> {
    let code: String = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut names = Vec::new();
    for statement in code.split(';').map(str::trim) {
        if let Some(module) = statement.rsplit("pub mod ").next().filter(|_| statement.contains("pub mod ")) {
            names.push(module.to_owned());
        }
        if let Some(list) = statement.strip_prefix("pub use ") {
            let list = list.split_once('{').map_or_else(
                || list.rsplit("::").next().unwrap_or_default(),
                |(_, list)| list.trim_end_matches('}'),
            );
            names.extend(list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }
    names
}

#[test]
fn the_root_exports_at_most_45_names() {
    let root = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let names = exported(&root);
    assert!(
        names.iter().any(|name| name == "Agent") && names.iter().any(|name| name == "adapter"),
        "{names:?}"
    );
    assert!(names.len() <= 45, "{} names: {names:?}", names.len());
}
