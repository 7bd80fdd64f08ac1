//! Single entries, valid or not.

use std::{path::Path, time::Duration};

use toolbay_config::{
    ConfigFile, Permission, ReadFiles, RevisionSetting, ServerEndpoint, Transport, Validate, Variables,
    parse_with,
};

fn one(entry: &str) -> ConfigFile {
    let text = format!("{{\"mcpServers\": {{\n  \"s\": {entry}\n}}}}");
    let variables = Variables { files: ReadFiles::Now, ..Variables::default() };
    parse_with(&text, Path::new("/etc/mcp.json"), &variables).unwrap()
}

#[test]
fn a_bad_entry_says_what_is_wrong_and_where() {
    for (entry, said) in [
        ("5", "an entry must be a table, got a number"),
        ("{}", "`command` or `url` is missing"),
        (r#"{"command": ""}"#, "`command` is empty"),
        (r#"{"command": " "}"#, "`command` is empty"),
        (r#"{"command": 1}"#, "`command` must be a string, got a number"),
        (r#"{"command": []}"#, "`command` is empty"),
        (r#"{"command": "x", "args": "y"}"#, "`args` must be an array of strings, got a string"),
        (r#"{"command": "x", "args": [["y"]]}"#, "`args[0]` must be a string, got an array"),
        (r#"{"command": "x", "env": {"A": []}}"#, "`env.A` must be a string, got an array"),
        (r#"{"command": "x", "enabled": "no"}"#, "`enabled` must be a boolean, got a string"),
        (r#"{"command": "x", "toolbay": 1}"#, "`toolbay` must be a table, got a number"),
        (r#"{"tcp": "h:1"}"#, "`tcp` is not supported"),
        (r#"{"command": "x", "env": {"A=B": "c"}}"#, "must not contain NUL"),
        (r#"{"command": "x", "env": {"": "c"}}"#, "must not contain NUL"),
        (r#"{"command": "x\u0000y"}"#, "must not contain NUL"),
        (r#"{"command": "x", "url": "http://h/"}"#, "cannot be used together"),
        (r#"{"url": "example.com"}"#, "must begin with `http://`"),
        (r#"{"url": "http:// h/"}"#, "is not a valid URL"),
        (r#"{"url": "ftp://h/"}"#, "begins with `ftp`"),
        (
            r#"{"url": "wss://h/", "type": "sse"}"#,
            "begins with `wss`, which means WebSocket, but `type` is `sse`",
        ),
        (r#"{"url": "ws://h/", "headers": {"Sec-WebSocket-Key": "p4ss"}}"#, "is set by the protocol"),
        (r#"{"url": "http://u:p4ss@h/"}"#, "put them into `headers`"),
        (r#"{"type": "stdio", "url": "http://h/"}"#, "requires a `command`"),
        (r#"{"type": "carrier pigeon", "url": "http://h/"}"#, "unknown transport `carrier pigeon`"),
        (r#"{"url": "http://h/", "headers": {"a b": "p4ss"}}"#, "`a b` is not a valid header name"),
        (r#"{"url": "http://h/", "headers": {"a": "p4ss\n"}}"#, "the value of the header `a`"),
        (
            r#"{"url": "http://h/", "headers": {"Mcp-Session-Id": "1"}}"#,
            "`mcp-session-id` is set by the protocol",
        ),
        (r#"{"command": "x", "toolbay": {"ca": "ca.pem"}}"#, "`toolbay.ca` is for servers at a `url`"),
        (
            r#"{"url": "https://h/", "toolbay": {"ca": "no/such.pem"}}"#,
            "`toolbay.ca`: cannot read /etc/no/such.pem: No such file",
        ),
        (r#"{"url": "https://h/", "toolbay": {"ca": "passwd"}}"#, "there is no certificate in it"),
    ] {
        let file = one(entry);
        assert!(file.servers.is_empty(), "{entry}");
        let [problem] = &file.problems[..] else { panic!("{entry}: {:?}", file.problems) };
        assert!(problem.to_string().starts_with("2:3: server `s`: "), "{problem}");
        assert!(problem.message.contains(said), "{entry}: {problem}");
        assert!(!problem.message.contains("p4ss"), "{problem}");
    }
}

/// A mistake in our own object stands where its key stands.
#[test]
fn settings_of_ours_in_other_files_are_checked_key_by_key() {
    for (entry, said) in [
        (r#"{"url": "https://h/", "toolbay": {"connect_timeout": "soon"}}"#, "unknown unit `soon`"),
        (r#"{"command": "x", "toolbay": {"startup_timeout": "2..5s"}}"#, "is not a duration"),
        (r#"{"command": "x", "toolbay": {"startup_timeout": "soon"}}"#, "unknown unit `soon`"),
        (r#"{"command": "x", "toolbay": {"startup_timeout": "5 years"}}"#, "unknown unit `years`"),
        (r#"{"command": "x", "toolbay": {"startup_timeout": -1}}"#, "must be positive"),
        (
            r#"{"command": "x", "toolbay": {"startup_timout": 1}}"#,
            "`startup_timout` is unknown; did you mean `startup_timeout`?",
        ),
        (r#"{"command": "x", "toolbay": {"revision": "stone"}}"#, "unknown variant `stone`"),
        (r#"{"command": "x", "toolbay": {"max_in_flight": -1}}"#, "invalid value"),
    ] {
        let file = one(entry);
        let [problem] = &file.problems[..] else { panic!("{entry}: {:?}", file.problems) };
        let key = 3 + r#""s": "#.len() + entry.find(r#""toolbay": {"#).unwrap() + r#""toolbay": {"#.len();
        assert_eq!((problem.location.line, problem.location.column), (2, key), "{entry}");
        assert!(
            problem.message.starts_with("`toolbay`: ") && problem.message.contains(said),
            "{entry}: {problem}"
        );
    }
}

#[test]
fn a_key_that_was_perhaps_misspelled_is_named() {
    let file = one(r#"{"comand": "npx", "args": []}"#);
    assert_eq!(file.problems[0].to_string(), "2:9: server `s`: `comand` is unknown; did you mean `command`?");
    let file = one(
        r#"{"command": "npx", "arg": ["x"], "autoApprove": [], "dev": {}, "trust": true, "alwaysAllow": []}"#,
    );
    assert_eq!(file.problems, []);
    let said: Vec<String> = file.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["2:27: server `s`: `arg` is unknown; did you mean `args`?"]);
    assert!(file.written[0].extra.values().any(|keys| keys.contains_key("arg")), "it is kept all the same");
}

#[test]
fn an_entry_is_taken_as_it_stands() {
    let file = one(
        r#"{"type": "stdio", "command": "sh -c 'x'", "args": ["$(touch MARK)", ""], "env": {"A": "b"}, "cwd": "sub",
            "toolbay": {"startup_timeout": "1.5s", "idle_timeout": 90, "total_timeout": "10m", "stop_grace": "500ms",
                        "revision": "legacy", "validate": "warn", "max_waiting": 3}}"#,
    );
    assert_eq!(file.problems, []);
    let [server] = &file.servers[..] else { panic!("{file:?}") };
    let ServerEndpoint::Command(command) = &server.endpoint else { panic!("{server:?}") };
    assert_eq!(command.command, "sh -c 'x'", "never split, never given to a shell");
    assert_eq!(command.args, ["$(touch MARK)", ""]);
    assert_eq!(command.cwd.as_deref(), Some(Path::new("/etc/sub")), "relative to the file");
    let tuning = &server.tuning;
    assert_eq!(tuning.startup_timeout, Some(Duration::from_millis(1500)));
    assert_eq!(tuning.idle_timeout, Some(Duration::from_secs(90)));
    assert_eq!(tuning.total_timeout, Some(Duration::from_secs(600)));
    assert_eq!(tuning.stop_grace, Some(Duration::from_millis(500)));
    assert_eq!((tuning.revision, tuning.validate), (RevisionSetting::Legacy, Validate::Warn));
    assert_eq!(tuning.max_waiting, Some(3));
}

#[test]
fn a_url_is_taken_with_its_headers() {
    for kind in ["", r#""type": "http","#, r#""type": "streamable-http","#] {
        let file = one(&format!(
            r#"{{{kind} "url": "https://h:1/mcp?a=b", "headers": {{"Authorization": "Bearer p4ss"}},
                "toolbay": {{"revision": "modern"}}}}"#
        ));
        assert_eq!(file.problems, []);
        let [server] = &file.servers[..] else { panic!("{file:?}") };
        let ServerEndpoint::Url(remote) = &server.endpoint else { panic!("{server:?}") };
        assert_eq!(remote.url, "https://h:1/mcp?a=b");
        assert_eq!(remote.headers["authorization"], "Bearer p4ss");
        assert_eq!(server.tuning.revision, RevisionSetting::Modern);
        assert!(!format!("{file:?}").contains("p4ss"), "{file:?}");
    }
}

#[test]
fn the_type_says_what_is_spoken_at_a_url() {
    for (kind, url, transport) in [
        ("", "http://h/mcp", Transport::Auto),
        ("", "wss://h/mcp", Transport::Auto),
        (r#""type": "auto","#, "http://h/mcp", Transport::Auto),
        (r#""type": "http","#, "http://h/mcp", Transport::Http),
        (r#""type": "streamable-http","#, "http://h/mcp", Transport::Http),
        (r#""type": "streamableHttp","#, "http://h/mcp", Transport::Http),
        (r#""type": "sse","#, "https://h/sse", Transport::Sse),
        (r#""type": "ws","#, "ws://h/", Transport::WebSocket),
        (r#""type": "websocket","#, "https://h/", Transport::WebSocket),
    ] {
        let file = one(&format!(r#"{{{kind} "url": "{url}"}}"#));
        assert_eq!(file.problems, [], "{kind} {url}");
        let ServerEndpoint::Url(remote) = &file.servers[0].endpoint else { panic!("{file:?}") };
        assert_eq!(remote.transport, transport, "{kind} {url}");
    }
}

#[test]
fn an_entry_can_be_switched_off() {
    for entry in [r#"{"command": "x", "disabled": true}"#, r#"{"command": "x", "enabled": false}"#] {
        assert_eq!(one(entry).servers[0].permission, Permission::Disabled, "{entry}");
    }
}
