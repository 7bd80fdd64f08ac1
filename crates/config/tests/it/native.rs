//! `toolbay.toml`: reported errors, its schema and its example.

use std::{collections::BTreeSet, path::Path, time::Duration};

use serde_json::Value;
use toolbay_config::{
    AuthSection, ConfigFile, Format, InheritEnv, Listen, Permission, Restart, RevisionSetting, ServerConfig,
    ServerEndpoint, Sharing, Start, Stderr, Transport, parse, schema,
};

const EXAMPLE: &str = include_str!("../../../../docs/toolbay.toml");
const BUILT_IN: &str = include_str!("../../../../docs/built-in-servers.md");
const CONFIGURATION: &str = include_str!("../../../../docs/configuration.md");

fn file(text: &str) -> ConfigFile {
    parse(text, Path::new("/etc/toolbay.toml")).unwrap()
}

fn problems(text: &str) -> String {
    file(text).problems.iter().map(|problem| format!("{problem}\n")).collect()
}

fn as_json(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

fn fits_schema(text: &str) -> bool {
    jsonschema::is_valid(&schema(), &as_json(text))
}

#[test]
fn a_mistake_is_reported_with_its_location() {
    for (text, said) in [
        ("[servers.a]\ncomand = 'x'\n", "2:1: server `a`: `comand` is unknown; did you mean `command`?\n"),
        (
            "[servers.a]\ncommand = 'x'\n  startupTimeout = 1\n",
            "3:3: server `a`: `startupTimeout` is unknown; did you mean `startup_timeout`?\n",
        ),
        (
            "[servers.a]\ncommand = 'x'\nidle_timeout = 'soon'\nrevision = 'stone'\n",
            "3:1: server `a`: `idle_timeout`: unknown unit `soon`; use ms, s, m or h\n4:1: server `a`: `revision`: unknown variant `stone`, expected one of `auto`, `legacy`, `modern`\n",
        ),
        (
            "[servers.a]\ncommand = 'x'\ntools = { alow = ['x'] }\n",
            "3:1: server `a`: `tools`: unknown field `alow`, expected `allow` or `deny`\n",
        ),
        ("[servers.a]\nargs = 'x'\n", "1:10: server `a`: `args` must be an array of strings, got a string\n"),
        (
            "[servers.a]\ncommand = 'x'\ntransport = 'http'\n",
            "1:10: server `a`: `transport` requires a `url`, which is missing\n",
        ),
        ("[servers]\na = 5\n", "2:1: server `a`: an entry must be a table, got a number\n"),
        ("[server.a]\ncommand = 'x'\n[hub]\n", "1:2: `server` is unknown; did you mean `servers`?\n"),
        ("[hub]\nlistn = 'x'\n", "2:1: `listn` is unknown; did you mean `listen`?\n"),
        (
            "[hub]\nlisten = 'everywhere'\nnaming = 'short'\n",
            "2:1: `everywhere` must be ADDR:PORT, PORT or unix:PATH\n3:1: `naming` must be one of prefix, none, prefix+alias\n",
        ),
        ("[hub]\nlisten = 5\n", "2:1: `listen` must be a string or an array of strings, got a number\n"),
        ("hub = 1\n", "1:1: `hub` must be a table\n"),
        (
            "[hub]\nshare = 'yes'\nlinger = '5 days'\n",
            "2:1: `share` must be a boolean, got a string\n3:1: `linger`: unknown unit `days`; use ms, s, m or h\n",
        ),
        ("[hub]\ntls_cert = 'c.pem'\n", "1:2: `tls_cert` and `tls_key` must be used together\n"),
        ("[hub]\ntoken_file = '${NO_SUCH}'\n", "2:1: `token_file`: variable NO_SUCH is not set\n"),
    ] {
        assert_eq!(problems(text), said, "{text}");
    }
}

#[test]
fn one_bad_entry_drops_no_other() {
    let file = file("[servers.a]\ncomand = 'x'\n[servers.b]\ncommand = 'x'\n[servers.c]\nurl = 'ftp://x'\n");
    let names: Vec<&str> = file.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn broken_toml_says_where() {
    let error = parse("[servers.a]\ncommand = 'x\n", Path::new("toolbay.toml")).unwrap_err().to_string();
    assert!(error.starts_with("toolbay.toml:2:"), "{error}");
    let error = parse("[servers.a]\n[servers.a]\n", Path::new("toolbay.toml")).unwrap_err().to_string();
    assert!(error.starts_with("toolbay.toml:2:"), "{error}");
}

/// F29: names that clients could not tell apart.
#[test]
fn names_with_the_same_slug_are_reported() {
    let text = "[servers.my-server]\ncommand = 'x'\n[servers.'My Server']\ncommand = 'y'\n";
    assert_eq!(
        problems(text),
        "3:10: server `My Server`: its tools would be named like those of `my-server`; names must differ in more than case and punctuation\n"
    );
    assert_eq!(file(text).servers.len(), 1);
}

#[test]
fn everything_in_it_is_read() {
    let file = file(EXAMPLE);
    assert_eq!((problems(EXAMPLE).as_str(), file.format), ("", Format::Toolbay));
    assert_eq!(file.hub.listen[0], Listen::Http("127.0.0.1:4100".parse().unwrap()));
    assert_eq!(file.hub.listen[1], Listen::Unix("/run/user/1000/toolbay-mcp.sock".into()));
    assert_eq!(file.hub.naming.as_deref(), Some("prefix"));
    assert_eq!(file.hub.tls_key.as_deref(), Some(Path::new("/etc/hub.key")), "it is relative to the file");
    assert_eq!(
        (file.hub.public_url.as_deref(), &file.hub.allow_origin[..]),
        (Some("https://hub.example.com"), &["http://localhost:5173".to_owned()][..])
    );
    let AuthSection::Valid(auth) = &file.auth else { panic!("{:?}", file.auth) };
    assert_eq!(auth.issuer, "https://login.example.com/realms/main");
    assert_eq!(auth.scope_includes["mcp:write"], ["mcp", "mcp:read"]);
    assert_eq!(auth.tier_claim.as_ref().unwrap().values["admin"], "destructive");
    assert_eq!((file.hub.allow_unauthenticated, file.hub.allow_local_users), (Some(false), Some(false)));
    assert_eq!((file.hub.share, file.hub.linger()), (Some(true), Duration::from_secs(300)));
    assert_eq!(file.hub.first_list_wait(), Duration::from_secs(2));
    assert_eq!((file.hub.exposure.as_deref(), file.hub.exposure_budget), (Some("auto"), Some(20_000)));
    assert_eq!((&file.hub.always_listed[0][..], file.hub.client_exposure.len()), ("github__get_*", 1));
    let [files, issues, tracker, built_in @ .., git, browser, intranet] = &file.servers[..] else {
        panic!("{file:?}")
    };
    let ServerEndpoint::Command(command) = &files.endpoint else { panic!("{files:?}") };
    assert_eq!((command.command.as_str(), command.cwd.as_deref()), ("npx", Some(Path::new("/etc/."))));
    let ServerEndpoint::Url(remote) = &issues.endpoint else { panic!("{issues:?}") };
    assert_eq!(remote.transport, Transport::Http);
    let ServerEndpoint::Url(remote) = &tracker.endpoint else { panic!("{tracker:?}") };
    assert_eq!(remote.oauth.client_id.as_deref(), Some("my-client"));
    assert_eq!(remote.oauth.private_key_file.as_deref(), Some(Path::new("/etc/tracker.pem")));
    assert_eq!(
        (remote.oauth.scopes.as_deref(), remote.oauth.callback_port),
        (Some("read write"), Some(3118))
    );
    let is_built_in = |server: &ServerConfig| matches!(server.endpoint, ServerEndpoint::BuiltIn(_));
    assert!(built_in.len() == 10 && built_in.iter().all(is_built_in), "{built_in:?}");
    assert_eq!(git.tuning.tools.deny, ["git_push", "git_reset*"]);
    assert_eq!(git.tuning.tool["git_clone"].idle_timeout.map(|time| time.as_secs()), Some(300));
    assert_eq!(browser.permission, Permission::Disabled);
    assert_eq!((browser.tuning.start, browser.tuning.instances), (Start::OnDemand, Sharing::PerSession));
    assert_eq!(browser.tuning.stderr, Stderr::File("/var/log/browser-mcp.log".into()));
    assert_eq!(browser.tuning.inherit_env, InheritEnv::Also(vec!["DISPLAY".into(), "WAYLAND_*".into()]));
    assert_eq!(intranet.tuning.heartbeat.map(|time| time.as_secs()), Some(30));
    assert_eq!(file.written.last().unwrap().extra["cline"]["autoApprove"], serde_json::json!(["search"]));
}

#[test]
fn restarts_can_be_switched_off_in_every_format() {
    let entry =
        r#"{"mcpServers": {"a": {"command": "x", "toolbay": {"restart": "never"}}, "b": {"command": "y"}}}"#;
    let json = parse(entry, Path::new("/etc/mcp.json")).unwrap();
    let toml = file("[servers.a]\ncommand = 'x'\nrestart = 'never'\n[servers.b]\ncommand = 'y'\n");
    for file in [json, toml] {
        let restarts: Vec<Restart> = file.servers.iter().map(|server| server.tuning.restart).collect();
        assert_eq!(restarts, [Restart::Never, Restart::Automatic], "{file:?}");
    }
}

#[test]
fn the_example_shows_every_key_and_fits_the_schema() {
    assert!(fits_schema(EXAMPLE));
    // Those that name files which are not there are in comments.
    let whole = EXAMPLE
        .replace("\n# env_file", "\nenv_file")
        .replace("\n# ca", "\nca")
        .replace("\n# introspection", "\nintrospection");
    assert!(fits_schema(&whole));
    let whole = as_json(&whole);
    let shown: BTreeSet<&String> = whole["servers"].as_object().unwrap().values().flat_map(keys).collect();
    let schema = schema();
    assert_eq!(shown, keys(&schema["definitions"]["server"]["properties"]).collect());
    assert!(keys(&whole["hub"]).eq(keys(&schema["properties"]["hub"]["properties"])));
    assert!(keys(&whole["auth"]).eq(keys(&schema["properties"]["auth"]["properties"])));
}

fn keys(object: &Value) -> impl Iterator<Item = &String> {
    object.as_object().unwrap().keys()
}

/// The texts in backticks.
fn code(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_tables_of_the_documentation_have_every_key_and_no_other() {
    let schema = schema();
    let known: BTreeSet<&str> =
        keys(&schema["definitions"]["server"]["properties"]).map(String::as_str).collect();
    let (_, table) = CONFIGURATION.split_once("| key | meaning | default |\n|---|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let in_table: BTreeSet<&str> =
        table.lines().flat_map(|row| code(row.split('|').nth(1).unwrap())).collect();
    assert!(in_table.is_subset(&known), "unknown: {:?}", in_table.difference(&known));
    // What a server is, not how it is treated, is in the text above the table and in the example; `tool` is beside `tools`.
    let entry = [
        "command",
        "args",
        "env",
        "env_file",
        "cwd",
        "url",
        "transport",
        "type",
        "headers",
        "oauth",
        "builtin",
        "enabled",
        "extra",
        "tool",
    ];
    let (_, built_in) = BUILT_IN.split_once("| server | key | meaning | default |\n").unwrap();
    let of_built_in: BTreeSet<&str> = built_in
        .lines()
        .filter(|row| row.starts_with('|'))
        .flat_map(|row| code(row.split('|').nth(2).unwrap()))
        .collect();
    assert!(of_built_in.is_subset(&known), "unknown: {:?}", of_built_in.difference(&known));
    let is_documented =
        |key: &str| in_table.contains(key) || of_built_in.contains(key) || entry.contains(&key);
    let left_out: Vec<&&str> = known.iter().filter(|key| !is_documented(key)).collect();
    assert!(
        left_out.is_empty(),
        "neither in docs/configuration.md nor in docs/built-in-servers.md: {left_out:?}"
    );
    let (_, hub) = CONFIGURATION.split_once("## Hub settings\n").unwrap();
    let hub = code(hub.split_once("\n## ").unwrap().0);
    let missing: Vec<&String> = keys(&schema["properties"]["hub"]["properties"])
        .filter(|key| !hub.iter().any(|code| code.split([' ', '=']).next() == Some(key.as_str())))
        .collect();
    assert!(missing.is_empty(), "not in docs/configuration.md: {missing:?}");
}

/// What the schema says is what the reader says, one key at a time.
#[test]
fn the_schema_agrees_with_the_reader() {
    for (line, is_fine) in [
        ("command = 'x'", true),
        ("url = 'https://h/'", true),
        ("command = ''", false),
        ("command = 'x'\nurl = 'https://h/'", false),
        ("args = ['x']", false),
        ("command = 'x'\nargs = ['x', 1]", true),
        ("command = 'x'\nargs = 'x'", false),
        ("command = 'x'\nenv = { A = 'b', C = 1 }", true),
        ("command = 'x'\nenv = { A = [] }", false),
        ("command = 'x'\nenabled = false", true),
        ("command = 'x'\nenabled = 'no'", false),
        ("command = 'x'\nidle_timeout = '1.5s'", true),
        ("command = 'x'\nidle_timeout = 90", true),
        ("command = 'x'\nidle_timeout = -1", false),
        ("command = 'x'\nidle_timeout = 'soon'", false),
        ("command = 'x'\nrevision = 'modern'", true),
        ("command = 'x'\nrevision = 'stone'", false),
        ("command = 'x'\nvalidate = 'off'", true),
        ("command = 'x'\nvalidate = false", false),
        ("command = 'x'\nvalidate_output = 'enforce'", true),
        ("command = 'x'\nvalidate_output = true", false),
        ("command = 'x'\nmax_result = 1000", true),
        ("command = 'x'\nmax_result = '1 kB'", false),
        ("command = 'x'\ntool.t.max_result = 0", true),
        ("command = 'x'\nmax_in_flight = 3", true),
        ("command = 'x'\nmax_in_flight = -3", false),
        ("command = 'x'\nrestart = 'never'", true),
        ("command = 'x'\nrestart = 'automatic'", true),
        ("command = 'x'\nrestart = false", false),
        ("command = 'x'\nserialize_writes = true", true),
        ("command = 'x'\nserialize_writes = 'yes'", false),
        ("url = 'https://x'\nallow_shared = true", true),
        ("url = 'https://x'\nallow_shared = 1", false),
        ("command = 'x'\nstart = 'on-demand'", true),
        ("command = 'x'\nstart = 'later'", false),
        ("command = 'x'\ninstances = { pool = 4 }", true),
        ("command = 'x'\ninstances = { pool = 0 }", false),
        ("command = 'x'\ninstances = 'many'", false),
        ("command = 'x'\nstderr = { file = 'f' }", true),
        ("command = 'x'\nstderr = 'null'", true),
        ("command = 'x'\nstderr = 'file'", false),
        ("command = 'x'\ninherit_env = 'none'", true),
        ("command = 'x'\ninherit_env = ['A_*']", true),
        ("command = 'x'\ninherit_env = 'some'", false),
        ("command = 'x'\ntools.allow = ['a']", true),
        ("command = 'x'\ntools.alow = ['a']", false),
        ("command = 'x'\ntool.t.total_timeout = 1", true),
        ("command = 'x'\ntool.t.retries = 1", false),
        ("command = 'x'\nroots = ['file:///']", true),
        ("command = 'x'\nroots = 'file:///'", false),
        ("command = 'x'\nextra.cline.x = 1", true),
        ("command = 'x'\ncolour = 'red'", false),
    ] {
        let text = format!("[servers.a]\n{line}\n");
        assert_eq!(fits_schema(&text), is_fine, "the schema: {text}");
        assert_eq!(problems(&text).is_empty(), is_fine, "the reader: {text}{}", problems(&text));
    }
}

#[test]
fn the_former_name_of_a_setting_is_read_with_a_warning() {
    let parsed = |text: &str, file: &str| parse(text, Path::new(file)).unwrap();
    for (text, file, place) in [
        ("[servers.a]\ncommand = 'x'\nera = 'modern'\n", "/x/toolbay.toml", "3:1"),
        (r#"{"mcpServers": {"a": {"command": "x", "toolbay": {"era": "modern"}}}}"#, "/x/mcp.json", "1:"),
    ] {
        let file = parsed(text, file);
        assert_eq!(file.problems, []);
        assert_eq!(file.servers[0].tuning.revision, RevisionSetting::Modern);
        let warning = file.warnings[0].to_string();
        assert!(
            warning.starts_with(place) && warning.contains("`era` is now called `revision`"),
            "{warning}"
        );
    }
}
