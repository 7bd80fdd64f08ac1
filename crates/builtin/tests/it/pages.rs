//! The page that shows how to add to a built-in server is true to the code.

use std::{fs, path::Path};

/// Every file it names is there, and what it says is in a file is in it.
#[test]
fn what_the_page_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/builtin.md")).unwrap();
    let files = page.split('`').filter(|word| word.starts_with("crates/") && !word.contains("NAME"));
    let files: Vec<&str> = files.collect();
    assert!(files.len() >= 7, "{files:?}");
    for file in &files {
        assert!(root.join(file).is_file(), "{file}");
    }
    for (name, file) in [
        ("const ALL: [Tool;", "crates/builtin/src/codebase/tools.rs"),
        ("pub(super) const TOOL: Tool", "crates/builtin/src/codebase/tools/list_directory.rs"),
        ("pub trait Code", "crates/builtin/src/codebase/code.rs"),
        ("impl Code for Tree", "crates/builtin/src/codebase/tree.rs"),
        ("pub fn is_stopped", "crates/builtin/src/codebase/worker.rs"),
        ("pub(super) fn list()", "crates/builtin/src/codebase/resources.rs"),
        ("pub(super) fn templates()", "crates/builtin/src/codebase/resources.rs"),
        ("pub(super) async fn read(", "crates/builtin/src/codebase/resources.rs"),
        ("fn files_come_in_pages", "crates/builtin/tests/it/codebase/answers.rs"),
        ("pub enum BuiltIn", "crates/config/src/model/built_in.rs"),
        ("fn connector(", "crates/cli/src/app/codebases.rs"),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains(name), "{name} in {file}");
    }
}
