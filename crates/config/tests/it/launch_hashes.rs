//! Which launches are the same.

use crate::support::server;

#[test]
fn a_launch_hash_is_of_the_launch_and_nothing_else() {
    let base = server("s", r#"{"command": "c", "args": ["a", "b"], "env": {"A": "1"}, "cwd": "x"}"#);
    let same = server(
        "other",
        r#"{"cwd": "x", "env": {"A": "1"}, "args": ["a", "b"], "command": "c", "disabled": true,
            "toolbay": {"idle_timeout": 1, "tools": {"deny": ["x"]}}}"#,
    );
    assert_eq!(base.launch_hash(), same.launch_hash());
    let others = [
        r#"{"command": "c", "args": ["ab"], "env": {"A": "1"}, "cwd": "x"}"#,
        r#"{"command": "c", "args": ["b", "a"], "env": {"A": "1"}, "cwd": "x"}"#,
        r#"{"command": "ca", "args": ["b"], "env": {"A": "1"}, "cwd": "x"}"#,
        r#"{"command": "c", "args": ["a", "b"], "env": {"A": "2"}, "cwd": "x"}"#,
        r#"{"command": "c", "args": ["a", "b"], "env": {"B": "1"}, "cwd": "x"}"#,
        r#"{"command": "c", "args": ["a", "b"], "env": {"A": "1"}}"#,
        r#"{"command": "c", "args": ["a", "b"], "env": {"A": "1"}, "cwd": "x", "toolbay": {"inherit_env": "none"}}"#,
        r#"{"command": "c", "args": ["a", "b"], "env": {"A": "1"}, "cwd": "x", "toolbay": {"inherit_env": ["B"]}}"#,
        r#"{"url": "http://h/"}"#,
        r#"{"url": "http://h/", "type": "sse"}"#,
        r#"{"url": "http://h/?a"}"#,
        r#"{"url": "http://h/", "headers": {"a": "1"}}"#,
        r#"{"url": "http://h/", "headers": {"a": "2"}}"#,
        r#"{"url": "http://h/", "headers": {"b": "1"}}"#,
    ];
    let mut hashes: Vec<_> = others.iter().map(|entry| server("s", entry).launch_hash()).collect();
    hashes.push(base.launch_hash());
    let all = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), all, "two launches that differ share a hash");
}

/// Caches outlive us: the hash may change only on purpose, with its number.
#[test]
fn a_launch_hash_stays_what_it_is_from_version_to_version() {
    let server = server("s", r#"{"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "s3cret"}}"#);
    let hash = server.launch_hash().to_string();
    assert_eq!(hash, "b1760c40fdb4e88b0ecc496b953d7da20e738ab0b1bb8bd8676c6358fa08e2de");
    assert!(!format!("{:?}", server.launch_hash()).contains("s3cret"));
}
