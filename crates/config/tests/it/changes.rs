//! What changed between two readings, and what makes two launches the same.

use toolbay_config::{Effect, diff};

use crate::support::{server, servers};

/// Each change of an entry, by what it asks for.
#[test]
fn a_change_restarts_only_what_it_must() {
    let base = r#"{"command": "c", "args": ["a"], "env": {"A": "1"}}"#;
    for (entry, expected) in [
        (base, None),
        (r#"{"env": {"A": "1"}, "args": ["a"], "command": "c"}"#, None),
        (r#"{"command": "c", "args": ["b"], "env": {"A": "1"}}"#, Some(Effect::Restart)),
        (r#"{"command": "c", "args": ["a"], "env": {"A": "2"}}"#, Some(Effect::Restart)),
        (r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "cwd": "x"}"#, Some(Effect::Restart)),
        (r#"{"url": "http://h/"}"#, Some(Effect::Restart)),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "toolbay": {"inherit_env": "all"}}"#,
            Some(Effect::Restart),
        ),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "toolbay": {"idle_timeout": 5}}"#,
            Some(Effect::Restart),
        ),
        (r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "disabled": true}"#, Some(Effect::Standing)),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "toolbay": {"tools": {"deny": ["x"]}}}"#,
            Some(Effect::Offers),
        ),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "toolbay": {"tool": {"x": {"idle_timeout": 1}}}}"#,
            Some(Effect::Offers),
        ),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "toolbay": {"validate": "off"}}"#,
            Some(Effect::Offers),
        ),
        (
            r#"{"command": "c", "args": ["a"], "env": {"A": "1"}, "disabled": true, "toolbay": {"validate": "off"}}"#,
            Some(Effect::Standing),
        ),
    ] {
        let new = server("s", entry);
        let found = diff(&[server("s", base)], std::slice::from_ref(&new));
        assert_eq!(found.changed.first().map(|changed| changed.effect), expected, "{entry}");
        assert_eq!(found.is_empty(), expected.is_none(), "{entry}");
        assert!(found.changed.iter().all(|changed| changed.server == new));
    }
}

#[test]
fn what_came_and_went_is_told_and_order_is_nothing() {
    let old = servers(r#""a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c"}"#);
    let new = servers(r#""d": {"command": "d"}, "c": {"command": "c"}, "a": {"command": "a2"}"#);
    let found = diff(&old, &new);
    let added: Vec<_> = found.added.iter().map(|server| server.name.as_str()).collect();
    let changed: Vec<_> = found.changed.iter().map(|changed| changed.server.name.as_str()).collect();
    assert_eq!((added, changed), (vec!["d"], vec!["a"]));
    assert_eq!((found.removed[0].as_str(), found.unchanged[0].as_str()), ("b", "c"));

    let turned: Vec<_> = old.iter().rev().cloned().collect();
    assert!(diff(&old, &turned).is_empty());
}

#[test]
fn of_fifty_servers_the_one_that_was_edited_restarts() {
    let entries = |edited: usize| {
        let entry = |n| format!(r#""s{n}": {{"command": "c", "args": ["{}"]}}"#, u8::from(n == edited));
        servers(&(0..50).map(entry).collect::<Vec<_>>().join(","))
    };
    let found = diff(&entries(99), &entries(17));
    assert_eq!((found.changed.len(), found.unchanged.len()), (1, 49));
    assert_eq!(found.changed[0].server.name.as_str(), "s17");
}

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
