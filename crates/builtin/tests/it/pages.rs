//! The page about writing built-in servers agrees with the code. Its example is a doc test.

use std::{fs, path::Path};

#[test]
fn files_and_functions_that_the_page_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/builtin.md")).unwrap();
    let files: Vec<&str> = page.split('`').filter(|word| word.starts_with("crates/")).collect();
    assert!(files.len() >= 8, "{files:?}");
    for file in &files {
        assert!(root.join(file).exists(), "{file}");
    }
    for (name, file) in [
        ("impl Server for CodebaseServer", "crates/builtin/src/codebase.rs"),
        ("pub(super) fn toolset()", "crates/builtin/src/codebase/tools.rs"),
        ("pub(super) fn tool()", "crates/builtin/src/codebase/tools/list_directory.rs"),
        ("pub(super) fn list()", "crates/builtin/src/codebase/resources.rs"),
        ("pub(super) fn templates()", "crates/builtin/src/codebase/resources.rs"),
        ("pub(super) async fn read(", "crates/builtin/src/codebase/resources.rs"),
        ("pub fn threads(", "crates/server/src/toolset.rs"),
        ("fn files_come_in_pages", "crates/builtin/tests/it/codebase/results.rs"),
        ("pub enum BuiltIn", "crates/config/src/model/built_in/settings.rs"),
        ("fn connect(", "crates/cli/src/app/built_in.rs"),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(name), "{name} in {file}");
    }
}
