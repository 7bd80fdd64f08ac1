//! Scopes and precedence of files.

use std::{fs, path::Path};

use toolbay_config::{
    Approvals, Origin, Permission, ReadFiles, ServerConfig, ServerEndpoint, Variables, load, load_from,
    scope::{
        Declared, Layer, Merged, OverrideReason, Placed, Scope, ScopeReader, ScopedFile, find_project, merge,
        scoped_files,
    },
};

use crate::support::{server, servers};

fn layer(scope: Scope, path: &str, servers: Vec<ServerConfig>) -> Layer {
    let servers = servers.into_iter().map(Declared::from).collect();
    Layer { file: ScopedFile { scope, path: path.into() }, servers }
}

/// One line per server: its name, command, permission and file.
fn lines(merged: &Merged) -> Vec<String> {
    let line = |placed: &Placed| {
        let ServerEndpoint::Command(command) = &placed.server.endpoint else { panic!("a command") };
        let file = placed.file.path.display();
        format!("{} {} {:?} {file}", placed.server.name, command.command, placed.server.permission)
    };
    merged.servers.iter().map(line).collect()
}

#[test]
fn the_higher_scope_counts_and_both_are_known() {
    let merged = merge([
        layer(Scope::User, "user", servers(r#""a": {"command": "user-a"}, "b": {"command": "user-b"}"#)),
        layer(Scope::Discovered, "found", servers(r#""a": {"command": "x"}, "z": {"command": "found-z"}"#)),
        layer(Scope::Project, "project", servers(r#""a": {"command": "project-a"}"#)),
        layer(Scope::Managed, "managed", servers(r#""b": {"command": "managed-b"}"#)),
    ]);
    assert_eq!(
        lines(&merged),
        ["b managed-b Enabled managed", "a project-a Enabled project", "z found-z Enabled found"]
    );
    let overridden: Vec<_> = merged
        .overridden
        .iter()
        .map(|o| {
            (o.entry.server.name.as_str(), o.entry.file.path.to_str().unwrap(), o.by.to_str().unwrap(), o.why)
        })
        .collect();
    assert_eq!(
        overridden,
        [
            ("a", "user", "project", OverrideReason::Rank),
            ("b", "user", "managed", OverrideReason::Rank),
            ("a", "found", "project", OverrideReason::Rank)
        ]
    );
}

#[test]
fn of_one_scope_the_first_file_counts() {
    let merged = merge([
        layer(Scope::Project, "toolbay.toml", servers(r#""a": {"command": "first"}"#)),
        layer(Scope::Project, ".mcp.json", servers(r#""a": {"command": "second"}"#)),
    ]);
    assert_eq!(lines(&merged), ["a first Enabled toolbay.toml"]);
}

/// A repository must not replace, nor switch off, a server that the user trusts (S12, S22).
#[test]
fn s12_an_unapproved_entry_overrides_no_other() {
    for permission in [Permission::Pending, Permission::Disabled] {
        let evil = ServerConfig { permission, ..server("github", r#"{"command": "evil"}"#) };
        let fresh = ServerConfig { permission, ..server("fresh", r#"{"command": "fresh"}"#) };
        let merged = merge([
            layer(Scope::Project, ".mcp.json", vec![evil, fresh]),
            layer(Scope::User, "user", servers(r#""github": {"command": "mine"}"#)),
        ]);
        assert_eq!(
            lines(&merged),
            [format!("fresh fresh {permission:?} .mcp.json"), "github mine Enabled user".to_owned()]
        );
        assert_eq!(
            (merged.overridden[0].why, merged.overridden[0].by.to_str()),
            (OverrideReason::Inert, Some("user"))
        );
    }
    // Nor does it turn their order.
    let pending =
        |name| ServerConfig { permission: Permission::Pending, ..server(name, r#"{"command": "x"}"#) };
    let merged = merge([
        layer(Scope::Project, ".mcp.json", vec![pending("b"), pending("a")]),
        layer(Scope::User, "user", servers(r#""a": {"command": "a"}, "b": {"command": "b"}"#)),
    ]);
    assert_eq!(lines(&merged), ["a a Enabled user", "b b Enabled user"]);
    // In the user's own scopes, switching off is how one does without a server here.
    let merged = merge([
        layer(Scope::Local, "local", servers(r#""a": {"command": "x", "disabled": true}"#)),
        layer(Scope::User, "user", servers(r#""a": {"command": "x"}"#)),
    ]);
    assert_eq!(lines(&merged), ["a x Disabled local"]);
}

#[test]
fn filters_of_two_scopes_allow_what_both_allow() {
    let filtered = |higher: &str, lower: &str, permission| {
        let entry = |tools: &str| format!(r#"{{"command": "c", "toolbay": {{"tools": {tools}}}}}"#);
        let lower = ServerConfig { permission, ..server("s", &entry(lower)) };
        let merged = merge([
            layer(Scope::Managed, "high", vec![server("s", &entry(higher))]),
            layer(Scope::Project, "low", vec![lower]),
        ]);
        let tools = merged.servers[0].server.tuning.tools.clone();
        (tools.allow.map(|allow| allow.join(" ")), tools.deny.join(" "))
    };
    let some = |text: &str| Some(text.to_owned());
    for (higher, lower, expected) in [
        ("{}", "{}", (None, "")),
        (r#"{"deny": ["a"]}"#, r#"{"deny": ["b", "a"]}"#, (None, "a b")),
        (r#"{"allow": ["a"]}"#, "{}", (some("a"), "")),
        ("{}", r#"{"allow": ["a"]}"#, (some("a"), "")),
        (r#"{"allow": ["get_*", "put"]}"#, r#"{"allow": ["*"]}"#, (some("get_* put"), "")),
        (r#"{"allow": ["get_*"]}"#, r#"{"allow": ["get_a", "put"]}"#, (some("get_a"), "")),
        (r#"{"allow": ["get_?"]}"#, r#"{"allow": ["get_*"]}"#, (some("get_?"), "")),
        // Nothing that both certainly allow.
        (r#"{"allow": ["a*"]}"#, r#"{"allow": ["*b"]}"#, (some(""), "")),
    ] {
        let (allow, deny) = filtered(higher, lower, Permission::Enabled);
        assert_eq!((allow, deny.as_str()), expected, "{higher} {lower}");
    }
    // What nobody approved of has no say.
    assert_eq!(filtered("{}", r#"{"deny": ["*"]}"#, Permission::Pending), (None, String::new()));
}

#[test]
fn scoped_files_are_ordered_by_scope() {
    let files = scoped_files(Some(Path::new("/home/me/.config")), Some(Path::new("/work/p")));
    let found: Vec<_> = files.iter().map(|file| (file.scope, file.path.to_str().unwrap())).collect();
    assert_eq!(
        found,
        [
            (Scope::Project, "/work/p/toolbay.toml"),
            (Scope::Project, "/work/p/.toolbay/toolbay.toml"),
            (Scope::Project, "/work/p/.mcp.json"),
            (Scope::User, "/home/me/.config/toolbay/toolbay.toml"),
        ]
    );
    // Their own file is the user's, even when it looks like a project's.
    let folder = tempfile::tempdir().unwrap();
    let files = scoped_files(Some(folder.path()), Some(&folder.path().join("toolbay")));
    assert_eq!(
        files
            .iter()
            .filter(|file| file.path.ends_with("toolbay/toolbay.toml") && file.scope == Scope::Project)
            .count(),
        0
    );
    assert_eq!(files.last().unwrap().scope, Scope::User);
}

#[test]
fn a_broken_file_or_entry_changes_nothing_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let (user, ours) = (folder.path().join("user.json"), project.join(".mcp.json"));
    let write =
        |path: &Path, entries: &str| fs::write(path, format!("{{\"mcpServers\": {{{entries}}}}}")).unwrap();
    write(&user, r#""a": {"command": "a1"}, "b": {"command": "b1"}"#);
    write(&ours, r#""c": {"command": "c1"}, "a": {"command": "evil"}"#);
    let files = vec![
        ScopedFile { scope: Scope::Project, path: ours.clone() },
        ScopedFile { scope: Scope::User, path: user.clone() },
    ];
    let mut approvals = Approvals::load(&folder.path().join("approvals.json"));
    let mut reader = ScopeReader::new(files, Some(project.clone()));
    assert_eq!(reader.paths(), [ours.clone(), user.clone()]);
    let mut read = |approvals: &Approvals| {
        let reading = reader.read(approvals, |path, origin| load_from(path, &Variables::default(), origin));
        let strip = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
        let servers: Vec<String> = lines(&reading.merged).iter().map(strip).collect();
        (servers.join(", "), reading.errors.len(), reading.problems.len())
    };
    let good = "c c1 Pending, a a1 Enabled, b b1 Enabled".to_owned();
    assert_eq!(read(&approvals), (good.clone(), 0, 0));
    let c = load(&ours).unwrap().launches.into_iter().find(|launch| launch.name == "c").unwrap();
    approvals.approve(&project, &c).unwrap();
    assert_eq!(read(&approvals).0, good.replace("Pending", "Enabled"));

    fs::write(&user, "{ half").unwrap();
    assert_eq!(read(&approvals), (good.replace("Pending", "Enabled"), 1, 0));
    write(&user, r#""b": {"command": "b2"}, "a": {"comand": "a2"}"#);
    assert_eq!(read(&approvals), ("c c1 Enabled, b b2 Enabled, a a1 Enabled".to_owned(), 0, 1));
    fs::remove_file(&user).unwrap();
    assert_eq!(read(&approvals), ("c c1 Enabled, a evil Pending".to_owned(), 0, 0));
    write(&ours, r#""c": {"command": "c2"}"#);
    assert_eq!(read(&approvals), ("c c2 Pending".to_owned(), 0, 0));
}

/// Nothing that an entry of a project names is opened before somebody approved of the entry.
#[test]
fn s22_files_that_a_project_names_are_read_after_the_approval() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let entries = [
        r#"{"command": "c", "env": {"A": "${file:secret}"}}"#,
        r#"{"command": "c", "args": ["${file:secret}"]}"#,
        r#"{"command": "c", "envFile": "secret"}"#,
        r#"{"url": "http://h/", "headers": {"A": "${file:secret}"}}"#,
        r#"{"url": "${file:secret}"}"#,
        r#"{"url": "https://h/", "toolbay": {"ca": "secret"}}"#,
    ];
    for (n, entry) in entries.into_iter().enumerate() {
        fs::write(path(".mcp.json"), format!(r#"{{"mcpServers": {{"s{n}": {entry}}}}}"#)).unwrap();
        fs::write(path("secret"), "A=s3nt1nel\n").unwrap();
        let files = vec![ScopedFile { scope: Scope::Project, path: path(".mcp.json") }];
        let mut reader = ScopeReader::new(files, Some(folder.path().to_owned()));
        let variables = Variables { files: ReadFiles::Now, ..Variables::default() };
        let mut read = |approvals: &Approvals| {
            reader.read(approvals, |path, origin| load_from(path, &variables, origin))
        };
        let mut approvals = Approvals::load(&path("approvals.json"));
        let waiting = read(&approvals);
        assert!(waiting.problems.is_empty(), "{entry}: {:?}", waiting.problems);
        let placed = &waiting.merged.servers[0];
        assert_eq!(placed.server.permission, Permission::Pending, "{entry}");
        assert!(!format!("{:?}", placed.server).contains("s3nt1nel"), "{entry}");
        approvals.approve(folder.path(), &placed.launch).unwrap();
        let approved = read(&approvals);
        match approved.merged.servers.first().map(|placed| placed.server.permission) {
            Some(Permission::Enabled) if approved.problems.is_empty() => {}
            // It is no certificate, and no URL.
            permission => {
                assert!(entry.contains("url") && approved.problems.len() == 1, "{entry}: {permission:?}")
            }
        }
    }
}

/// What nobody was shown must not decide what runs.
#[test]
fn s22_an_env_file_of_a_project_does_not_choose_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path(".mcp.json"),
        r#"{"mcpServers": {"s": {"command": "c", "envFile": ".env", "env": {"PATH": "/x"}}}}"#,
    )
    .unwrap();
    let variables = Variables { files: ReadFiles::Now, ..Variables::default() };
    let origin = Origin::Project { is_approved: &|_| true };
    for (text, problem) in [
        ("A=1\nPATH=/evil\n", None),
        ("A=1\nNODE_OPTIONS=--require ./x.js\n", Some("the env file sets `NODE_OPTIONS`")),
    ] {
        fs::write(path(".env"), text).unwrap();
        let file = load_from(&path(".mcp.json"), &variables, origin).unwrap();
        match problem {
            None => assert_eq!((file.problems.len(), file.servers.len()), (0, 1)),
            Some(problem) => assert!(file.problems[0].message.contains(problem), "{:?}", file.problems),
        }
    }
}

/// A cloned repository enables nothing.
#[test]
fn s22_other_sections_of_a_project_are_ignored_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let origin = Origin::Project { is_approved: &|_| true };
    for (name, text, places) in [
        ("toolbay.toml", "[hub]\nlisten = '0.0.0.0:1'\n[servers.a]\ncommand = 'c'\n", "1:2 [hub]"),
        (
            "toolbay.toml",
            "[servers.a]\ncommand = 'c'\n[hub]\nnaming = 'none'\n[x]\ny = 1",
            "3:2 [hub], 5:2 x",
        ),
        ("toolbay.toml", "hub.naming = 'none'\nservers.a.command = 'c'\n", "1:1 [hub]"),
        (
            "toolbay.toml",
            "[auth]\nissuer = 'https://evil.example'\n[servers.a]\ncommand = 'c'\n",
            "1:2 [auth]",
        ),
        (
            ".mcp.json",
            r#"{"hub": {"listen": "0.0.0.0:1"}, "mcpServers": {"a": {"command": "c"}}}"#,
            "1:2 [hub]",
        ),
        (".mcp.json", r#"{"hub": {"listen": "0.0.0.0:1"}, "servers": {"a": {"command": "c"}}}"#, "1:2 [hub]"),
        (".mcp.json", r#"{"theirs": 1, "mcpServers": {"a": {"command": "c"}}}"#, ""),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let file = load_from(&path, &Variables::default(), origin).unwrap();
        assert_eq!(file.hub, toolbay_config::HubFile::default(), "{text}");
        assert_eq!(file.auth, toolbay_config::AuthSection::Absent, "{text}");
        assert_eq!(file.servers.len(), 1, "{text}: {:?}", file.problems);
        let told: Vec<String> = file
            .ignored
            .iter()
            .map(|it| format!("{} {}", it.location, it.message.split('`').nth(1).unwrap()))
            .collect();
        assert_eq!(told.join(", "), places, "{text}");
        assert!(file.problems.is_empty(), "{text}: {:?}", file.problems);
    }
}

#[test]
fn a_project_is_found_from_the_folders_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let deep = top.join("home/work/repository/a/b");
    fs::create_dir_all(&deep).unwrap();
    let (home, work, repository) =
        (top.join("home"), top.join("home/work"), top.join("home/work/repository"));
    let find = |from: &Path| find_project(from, Some(&home));
    assert_eq!(find(&deep), deep, "where there is none, it is the folder itself");
    // Beyond the home nobody looks.
    fs::write(top.join(".mcp.json"), "{}").unwrap();
    fs::write(home.join(".mcp.json"), "{}").unwrap();
    assert_eq!(find(&deep), deep);
    assert_eq!(find(&home), home);
    fs::write(work.join("toolbay.toml"), "").unwrap();
    assert_eq!(find(&deep), work);
    // Nor beyond the repository.
    fs::create_dir(repository.join(".git")).unwrap();
    assert_eq!(find(&deep), deep);
    assert_eq!(find(&repository), repository);
    fs::create_dir(repository.join(".toolbay")).unwrap();
    fs::write(repository.join(".toolbay/toolbay.toml"), "").unwrap();
    assert_eq!(find(&deep), repository);
    fs::write(deep.parent().unwrap().join(".mcp.json"), "{}").unwrap();
    assert_eq!(find(&deep), deep.parent().unwrap());
    assert_eq!(find(Path::new("/")), Path::new("/"));
}

/// A repository has no say in where the user's hub listens.
#[test]
fn the_hub_is_set_up_by_the_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (user, project) = (folder.path().join("user.toml"), folder.path().join("toolbay.toml"));
    fs::write(&project, "[hub]\nlisten = '0.0.0.0:80'\nallow_unauthenticated = true\n").unwrap();
    fs::write(&user, "[hub]\nnaming = 'none'\n").unwrap();
    let files = [(Scope::Project, &project), (Scope::User, &user)]
        .map(|(scope, path)| ScopedFile { scope, path: path.clone() });
    let mut reader = ScopeReader::new(files.to_vec(), Some(folder.path().to_owned()));
    let approvals = Approvals::load(Path::new(""));
    let load_any = |path: &Path, origin: Origin<'_>| load_from(path, &Variables::default(), origin);
    let reading = reader.read(&approvals, load_any);
    assert_eq!((reading.hub.naming.as_deref(), reading.hub.listen.len()), (Some("none"), 0));
    let [(path, warning)] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
    assert_eq!((path, warning.location.line), (&project, 1), "{warning}");

    fs::write(&user, "[hub]\nnaming = ").unwrap();
    let reading = reader.read(&approvals, load_any);
    assert_eq!(reading.hub.naming.as_deref(), Some("none"), "a broken file changes nothing");
    let mut named = ScopeReader::new(vec![ScopedFile { scope: Scope::Local, path: project }], None);
    assert_eq!(named.read(&approvals, load_any).hub.allow_unauthenticated, Some(true), "it was named");
}
