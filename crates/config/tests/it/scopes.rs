//! Which file counts.

use std::{fs, path::Path};

use toolbay_config::{
    Approvals, Reach, ServerConfig, Standing, load,
    scope::{Layer, Merged, Placed, Scope, ScopeReader, ScopedFile, Why, merge, scoped_files},
};

use crate::support::{server, servers};

fn layer(scope: Scope, path: &str, servers: Vec<ServerConfig>) -> Layer {
    Layer { file: ScopedFile { scope, path: path.into() }, servers }
}

/// One line per server: its name, command, standing and file.
fn lines(merged: &Merged) -> Vec<String> {
    let line = |placed: &Placed| {
        let Reach::Command(command) = &placed.server.reach else { panic!("a command") };
        let file = placed.file.path.display();
        format!("{} {} {:?} {file}", placed.server.name, command.command, placed.server.standing)
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
    let outranked: Vec<_> = merged
        .outranked
        .iter()
        .map(|o| {
            (o.entry.server.name.as_str(), o.entry.file.path.to_str().unwrap(), o.by.to_str().unwrap(), o.why)
        })
        .collect();
    assert_eq!(
        outranked,
        [
            ("a", "user", "project", Why::Rank),
            ("b", "user", "managed", Why::Rank),
            ("a", "found", "project", Why::Rank)
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
fn s12_an_entry_that_nobody_approved_takes_nobodys_place() {
    for standing in [Standing::Pending, Standing::Disabled] {
        let evil = ServerConfig { standing, ..server("github", r#"{"command": "evil"}"#) };
        let fresh = ServerConfig { standing, ..server("fresh", r#"{"command": "fresh"}"#) };
        let merged = merge([
            layer(Scope::Project, ".mcp.json", vec![evil, fresh]),
            layer(Scope::User, "user", servers(r#""github": {"command": "mine"}"#)),
        ]);
        assert_eq!(
            lines(&merged),
            [format!("fresh fresh {standing:?} .mcp.json"), "github mine Enabled user".to_owned()]
        );
        assert_eq!((merged.outranked[0].why, merged.outranked[0].by.to_str()), (Why::Inert, Some("user")));
    }
    // Nor does it turn their order.
    let pending = |name| ServerConfig { standing: Standing::Pending, ..server(name, r#"{"command": "x"}"#) };
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
    let filtered = |higher: &str, lower: &str, standing| {
        let entry = |tools: &str| format!(r#"{{"command": "c", "toolbay": {{"tools": {tools}}}}}"#);
        let lower = ServerConfig { standing, ..server("s", &entry(lower)) };
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
        let (allow, deny) = filtered(higher, lower, Standing::Enabled);
        assert_eq!((allow, deny.as_str()), expected, "{higher} {lower}");
    }
    // What nobody approved of has no say.
    assert_eq!(filtered("{}", r#"{"deny": ["*"]}"#, Standing::Pending), (None, String::new()));
}

#[test]
fn files_are_looked_for_where_people_put_them() {
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
fn a_broken_file_or_entry_changes_nothing_and_is_told() {
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
        let reading = reader.read(approvals, load);
        let strip = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
        let servers: Vec<String> = lines(&reading.merged).iter().map(strip).collect();
        (servers.join(", "), reading.errors.len(), reading.problems.len())
    };
    let good = "c c1 Pending, a a1 Enabled, b b1 Enabled".to_owned();
    assert_eq!(read(&approvals), (good.clone(), 0, 0));
    let c = load(&ours).unwrap().servers.into_iter().find(|server| server.name.as_str() == "c").unwrap();
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
    let reading = reader.read(&approvals, load);
    assert_eq!((reading.hub.naming.as_deref(), reading.hub.listen.len()), (Some("none"), 0));
    let [(path, warning)] = &reading.warnings[..] else { panic!("{:?}", reading.warnings) };
    assert_eq!((path, warning.place.line), (&project, 1), "{warning}");

    fs::write(&user, "[hub]\nnaming = ").unwrap();
    let reading = reader.read(&approvals, load);
    assert_eq!(reading.hub.naming.as_deref(), Some("none"), "a broken file changes nothing");
    let mut named = ScopeReader::new(vec![ScopedFile { scope: Scope::Local, path: project }], None);
    assert_eq!(named.read(&approvals, load).hub.allow_unauthenticated, Some(true), "it was named");
}
