//! What a whole file comes to.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use toolbay_config::{ConfigError, Reach, inherited, load, parse};

#[test]
fn a_file_that_is_none_says_where() {
    for (text, said) in [
        ("", "f.json:1:1: it is empty"),
        ("[]", "f.json:1:1: a configuration is a table of keys"),
        ("{\"mcpServers\": {\n\"ä\": {}, 'b': {}}}", "f.json:2:10: "),
        ("{\"mcpServers\": {\"a\": {} \"b\": {}}}", "f.json:1:24: Expected comma"),
        ("{\"mcpServers\": 5}", "there are no servers in it"),
    ] {
        let error = parse(text, Path::new("f.json")).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn good_entries_stay_in_order_beside_bad_ones() {
    let text = r#"{
      // with comments
      "mcpServers": {
        "z": {"command": "1"}, "bad": null, "a": {"command": "2"}, "z": {"command": "3"}, "": {"command": "4"},
      },
      "other": {"anything": true},
    }"#;
    let file = parse(text, Path::new("f.json")).unwrap();
    let command = |reach: &Reach| match reach {
        Reach::Command(command) => command.command.clone(),
        Reach::Url(_) | Reach::BuiltIn(_) => panic!("{reach:?}"),
    };
    let names: Vec<(&str, String)> =
        file.servers.iter().map(|it| (it.name.as_str(), command(&it.reach))).collect();
    assert_eq!(names, [("z", "1".to_owned()), ("a", "2".to_owned())]);
    let problems: Vec<&str> =
        file.problems.iter().map(|problem| problem.server.as_deref().unwrap()).collect();
    assert_eq!(problems, ["bad", "z", ""]);
}

#[test]
fn a_file_that_anyone_may_write_to_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), r#"{"mcpServers": {}}"#).unwrap();
    for (mode, is_fine) in [(0o600, true), (0o644, true), (0o664, true), (0o666, false), (0o602, false)] {
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        let refused = matches!(load(file.path()), Err(ConfigError::WritableByAll { .. }));
        assert_eq!(refused, !is_fine, "{mode:o}");
    }
}

#[test]
fn servers_inherit_what_they_need_and_no_secrets() {
    let variables = [
        "PATH",
        "HOME",
        "LC_ALL",
        "HTTPS_PROXY",
        "no_proxy",
        "UV_INDEX",
        "GITHUB_TOKEN",
        "AWS_SECRET",
        "XPATH",
    ];
    let kept = inherited(variables.map(|name| (name.into(), "x".into())));
    let kept: Vec<&str> = kept.keys().filter_map(|name| name.to_str()).collect();
    assert_eq!(kept, ["HOME", "HTTPS_PROXY", "LC_ALL", "PATH", "UV_INDEX", "no_proxy"]);
}
