//! Whole files.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use toolbay_config::{ConfigError, Origin, ServerEndpoint, Variables, inherited, load, load_from, parse};

#[test]
fn a_file_that_is_none_says_where() {
    for (text, said) in [
        ("", "f.json:1:1: it is empty"),
        ("[]", "f.json:1:1: a configuration must be a table"),
        ("{\"mcpServers\": {\n\"ä\": {}, 'b': {}}}", "f.json:2:10: "),
        ("{\"mcpServers\": {\"a\": {} \"b\": {}}}", "f.json:1:24: Expected comma"),
        ("{\"mcpServers\": 5}", "it contains no servers"),
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
    let command = |reach: &ServerEndpoint| match reach {
        ServerEndpoint::Command(command) => command.command.clone(),
        ServerEndpoint::Url(_) | ServerEndpoint::BuiltIn(_) => panic!("{reach:?}"),
    };
    let names: Vec<(&str, String)> =
        file.servers.iter().map(|it| (it.name.as_str(), command(&it.endpoint))).collect();
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

/// One line, or many; short entries, or long ones: the cost is that of the text.
#[test]
fn the_time_to_read_a_file_is_linear() {
    let began = std::time::Instant::now();
    for (between, filler) in [("", 3500), ("\n", 3500), ("\n\n\n", 1)] {
        let entries: Vec<String> = (0..1024)
            .map(|n| format!("{between}\"s{n}\": {{\"command\": \"c\", \"x\": \"{}\"}}", "x".repeat(filler)))
            .collect();
        let text = format!("{{\"mcpServers\": {{{}}}}}", entries.join(","));
        assert_eq!(parse(&text, Path::new("f.json")).unwrap().servers.len(), 1024);
    }
    let keys: String = (0..20_000).map(|n| format!("k{n} = 1\n")).collect();
    let file = parse(&format!("[servers.a]\ncommand = 'c'\n{keys}"), Path::new("toolbay.toml")).unwrap();
    assert_eq!(file.problems.len(), 16);
    assert!(file.problems[15].message.contains("and more"), "{:?}", file.problems[15]);
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_file_has_so_many_servers_and_no_more() {
    let entries: Vec<String> = (0..1025).map(|n| format!("\"s{n}\": {{}}")).collect();
    let error =
        parse(&format!("{{\"mcpServers\": {{{}}}}}", entries.join(",")), Path::new("f.json")).unwrap_err();
    assert_eq!(error.to_string(), "the configuration f.json has 1025 servers; at most 1024 are allowed");
}

/// Who reads a file with a key twice, and who uses it, may see two different things.
#[test]
fn keys_that_are_defined_twice_are_mistakes() {
    for (name, text, said) in [
        (
            "f.json",
            r#"{"mcpServers": {"x": {"command": "good"}}, "mcpServers": {"x": {"command": "evil"}}}"#,
            "f.json:1:44: the key `mcpServers` is defined twice",
        ),
        (
            "f.json",
            "{\"a\": [{\"b\": 1,\n\"b\": 2}], \"mcpServers\": {}}",
            "f.json:2:1: the key `b` is defined twice",
        ),
        ("f.yaml", "extensions: {}\nextensions: {}\n", "f.yaml:2:1: the key `extensions` is defined twice"),
        ("f.toml", "[servers.a]\ncommand = 'a'\n[servers.a]\ncommand = 'b'\n", "f.toml:3:"),
        ("f.toml", "[servers.a]\ncommand = 'a'\ncommand = 'b'\n", "f.toml:3:"),
    ] {
        let error = parse(text, Path::new(name)).unwrap_err().to_string();
        assert!(error.starts_with(said), "{text}: {error}");
    }
    // In an entry it is that entry's mistake alone.
    for (name, text, place) in [
        (
            "f.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"good\",\n\"command\": \"evil\"}, \"b\": {\"command\": \"c\"}}}",
            "2:1",
        ),
        (
            "f.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"c\", \"env\": {\"A\": \"1\",\n \"A\": \"2\"}}, \"b\": {\"command\": \"c\"}}}",
            "2:2",
        ),
        (
            "config.yaml",
            "extensions:\n  a: {type: stdio, cmd: c, cmd: d}\n  b: {type: stdio, cmd: c}\n",
            "2:28",
        ),
    ] {
        let file = parse(text, Path::new(name)).unwrap();
        let problems: Vec<String> = file.problems.iter().map(|it| format!("{it}")).collect();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(problems[0].starts_with(&format!("{place}: server `a`: the key `")), "{problems:?}");
        assert_eq!(file.servers.len(), 1, "{text}");
    }
}

#[test]
fn a_file_with_a_key_twice_is_not_changed() {
    for text in [
        r#"{"mcpServers": {"x": {"command": "good"}, "x": {"command": "evil"}}}"#,
        r#"{"mcpServers": {"x": {"command": "good"}}, "mcpServers": {"x": {"command": "evil"}}}"#,
        r#"{"mcpServers": {"x": {"command": "good", "command": "evil"}}}"#,
    ] {
        let edit = toolbay_config::Edit::Disable("x");
        let error =
            toolbay_config::edit_text(text, Path::new("f.json"), None, &[edit]).unwrap_err().to_string();
        assert!(error.contains("is defined twice; nothing was changed"), "{error}");
    }
}

#[test]
fn a_file_of_another_user_or_group_is_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    fs::write(&path, r#"{"mcpServers": {"a": {"command": "c"}}}"#).unwrap();
    let project = toolbay_config::Origin::Project { is_approved: &|_| true };
    let read = |origin| toolbay_config::load_from(&path, &toolbay_config::Variables::default(), origin);
    let own = || read(toolbay_config::Origin::Own);
    // Only root can give files away; for others what decides is tested where it stands.
    if std::os::unix::fs::chown(&path, Some(65534), None).is_ok() {
        assert!(matches!(own(), Err(ConfigError::ForeignOwner { uid: 65534, .. })));
        assert!(read(project).is_ok(), "it waits for approval, whoever wrote it");
        std::os::unix::fs::chown(&path, Some(0), Some(65534)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        let error = own().unwrap_err().to_string();
        assert!(error.contains("writable by group 65534") && error.contains("chmod g-w"), "{error}");
        std::os::unix::fs::chown(&path, None, Some(0)).unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(own().is_ok());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o646)).unwrap();
    assert!(matches!(own(), Err(ConfigError::WritableByAll { .. })));
    assert!(matches!(read(project), Err(ConfigError::WritableByAll { .. })));
}

/// Strangers write such files, and whoever clones them must not pay for it: it is refused before it is parsed.
#[test]
fn the_file_of_a_project_is_small_and_has_few_values() {
    let folder = tempfile::tempdir().unwrap();
    let load_project = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        load_from(&path, &Variables::default(), Origin::Project { is_approved: &|_| false })
    };
    let json = |count: usize, env: &str| {
        let entry = |n| {
            format!(
                r#""s{n}":{{"command":"npx","args":["-y","@org/server-{n}@1.2.3"],"env":{{"A":"{env}"}}}}"#
            )
        };
        format!(r#"{{"mcpServers":{{{}}}}}"#, (0..count).map(entry).collect::<Vec<_>>().join(","))
    };
    let toml = |count: usize| {
        let entry = |n| {
            format!("[servers.s{n}]\ncommand = 'npx'\nargs = ['-y', '@org/server-{n}@1.2.3']\nenv.A = '1'\n")
        };
        (0..count).map(entry).collect::<String>()
    };
    for (name, text) in [(".mcp.json", json(500, "a, b: [c] = {d}.")), ("toolbay.toml", toml(500))] {
        let file = load_project(name, &text).unwrap();
        assert_eq!((file.servers.len(), &file.problems[..]), (500, &[][..]), "{name}");
    }
    for (name, text) in [
        (".mcp.json", json(6_000, "")),
        (".mcp.json", format!(r#"{{"mcpServers":{{}},"x":[{}]}}"#, vec!["0"; 100_000].join(","))),
        ("toolbay.toml", toml(5_000)),
        ("toolbay.toml", format!("x = [{}]", vec!["0"; 100_000].join(","))),
        ("toolbay.toml", (0..20_000).map(|n| format!("[a.b{n}]\n")).collect()),
        ("servers.yaml", format!("mcpServers: [{}]", vec!["0"; 100_000].join(","))),
        ("servers.yaml", format!("mcpServers:\n{}", "- 0\n".repeat(100_000))),
    ] {
        let refused = load_project(name, &text);
        assert!(matches!(refused, Err(ConfigError::TooManyValues { .. })), "{name}: {refused:?}");
    }
    let large = load_project(".mcp.json", &json(10, &"x".repeat(60_000))).unwrap_err().to_string();
    assert!(large.ends_with("it is larger than 512 KiB"), "{large}");
    // Whose own it is knows what is in it.
    fs::write(folder.path().join("own.json"), json(1_000, &"a, ".repeat(100))).unwrap();
    assert_eq!(load(&folder.path().join("own.json")).unwrap().servers.len(), 1_000);
}
