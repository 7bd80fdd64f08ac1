//! What a project may run, and who said so.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use toolbay_config::{ApprovalError, Approvals, ServerConfig, Standing, Verdict};

use crate::support::server;

/// A project, and a place for approvals.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("state/approvals.json")
    }

    fn approvals(&self) -> Approvals {
        Approvals::load(&self.file())
    }

    fn approve(&self, server: &ServerConfig) {
        self.approvals().approve(&self.project(), server).unwrap();
    }

    fn verdict(&self, server: &ServerConfig) -> Verdict {
        self.approvals().verdict(&self.project(), server)
    }

    fn diff(&self, server: &ServerConfig) -> String {
        let lines = self.approvals().diff(&self.project(), server);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn git() -> ServerConfig {
    server("git", r#"{"command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "s3cret"}}"#)
}

#[test]
fn s22_what_came_with_a_project_waits_until_somebody_approves() {
    let stage = Stage::new();
    let standing = |server: &ServerConfig| {
        let mut server = server.clone();
        stage.approvals().judge(&stage.project(), &mut server);
        server.standing
    };
    assert_eq!(standing(&git()), Standing::Pending);
    stage.approve(&git());
    assert_eq!(standing(&git()), Standing::Enabled);
    assert!(stage.approvals().is_approved(&stage.project(), &git()));

    // S11: edited on disk, it waits again.
    let edited =
        server("git", r#"{"command": "uvx", "args": ["mcp-server-evil"], "env": {"TOKEN": "s3cret"}}"#);
    assert_eq!(standing(&edited), Standing::Pending);

    stage.approvals().reject(&stage.project(), &git()).unwrap();
    assert_eq!(standing(&git()), Standing::Disabled);
    assert_eq!(standing(&edited), Standing::Pending);
    assert!(stage.approvals().forget(&stage.project(), "git").unwrap());
    assert!(!stage.approvals().forget(&stage.project(), "git").unwrap());
    assert_eq!(standing(&git()), Standing::Pending);

    // What is off stays off, approved or not.
    let off = ServerConfig { standing: Standing::Disabled, ..git() };
    stage.approve(&off);
    assert_eq!(standing(&off), Standing::Disabled);
}

#[test]
fn s22_approval_is_for_one_folder() {
    let stage = Stage::new();
    stage.approve(&git());
    let elsewhere = stage.folder.path().join("clone");
    fs::create_dir(&elsewhere).unwrap();
    assert!(!stage.approvals().is_approved(&elsewhere, &git()));
    // The same folder by another name.
    let link = stage.folder.path().join("link");
    symlink(stage.project(), &link).unwrap();
    assert!(stage.approvals().is_approved(&link, &git()));
    assert!(stage.approvals().is_approved(&stage.project().join("../project"), &git()));
}

/// Approval binds to content, not to the name: whatever could make another program run asks again.
#[test]
fn s11_whatever_changes_about_a_launch_asks_again() {
    let stage = Stage::new();
    let base =
        r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"}}"#;
    stage.approve(&server("s", base));
    for (entry, expected) in [
        (base, Verdict::Approved),
        // A new value of a secret is no new launch, nor are timeouts.
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "2", "NODE_OPTIONS": "--no-warnings"}}"#,
            Verdict::Approved,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"},
                "toolbay": {"idle_timeout": 9, "tools": {"deny": ["x"]}}}"#,
            Verdict::Approved,
        ),
        (
            r#"{"command": "nodejs", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["y.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js", ""], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--require=./evil.js"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "X": "1", "NODE_OPTIONS": "--no-warnings"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"}, "cwd": "/tmp"}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"},
                "toolbay": {"inherit_env": "all"}}"#,
            Verdict::Changed,
        ),
        (
            r#"{"command": "node", "args": ["x.js"], "env": {"TOKEN": "1", "NODE_OPTIONS": "--no-warnings"},
                "toolbay": {"stderr": {"file": "/home/me/.bashrc"}}}"#,
            Verdict::Changed,
        ),
        (r#"{"url": "http://h/"}"#, Verdict::Changed),
    ] {
        assert_eq!(stage.verdict(&server("s", entry)), expected, "{entry}");
        assert_eq!(stage.verdict(&server("other", entry)), Verdict::Unknown);
    }
}

#[test]
fn s11_a_url_and_the_names_of_its_headers_are_bound_too() {
    let stage = Stage::new();
    stage.approve(&server("s", r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "1"}}"#));
    for (entry, expected) in [
        (r#"{"url": "https://h/mcp?k=1", "headers": {"x-key": "2"}}"#, Verdict::Approved),
        (r#"{"url": "https://evil/mcp?k=1", "headers": {"X-Key": "1"}}"#, Verdict::Changed),
        (r#"{"url": "https://h/mcp?k=2", "headers": {"X-Key": "1"}}"#, Verdict::Changed),
        (r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "1", "Cookie": "1"}}"#, Verdict::Changed),
        (r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "1"}, "type": "sse"}"#, Verdict::Changed),
    ] {
        assert_eq!(stage.verdict(&server("s", entry)), expected, "{entry}");
    }
}

#[test]
fn s11_the_diff_shows_what_changed_since_the_approval() {
    let stage = Stage::new();
    let old = server("s", r#"{"command": "npx", "args": ["-y", "x@1.0.0", "/data"], "env": {"A": "1"}}"#);
    assert_eq!(
        stage.diff(&old),
        "+ command: npx\n+ argument: -y\n+ argument: x@1.0.0\n+ argument: /data\n+ variable: A\n"
    );
    stage.approve(&old);
    let new = server(
        "s",
        r#"{"command": "npx", "args": ["-y", "x@1.0.16", "/data"], "env": {"A": "1", "B": "2"}}"#,
    );
    assert_eq!(
        stage.diff(&new),
        "  command: npx\n  argument: -y\n- argument: x@1.0.0\n+ argument: x@1.0.16\n  argument: /data\n  \
         variable: A\n+ variable: B\n"
    );
    assert!(stage.diff(&old).lines().all(|line| line.starts_with("  ")));
}

#[test]
fn s23_no_secret_is_stored_or_shown() {
    let stage = Stage::new();
    let command = |secret: &str| {
        server(
            "c",
            &format!(
                r#"{{"command": "c", "args": ["--api-key", "{secret}", "--token={secret}", "-e", "DB_PASSWORD={secret}",
                    "Authorization: Bearer {secret}", "sk-{secret}", "https://u:{secret}@h/?x={secret}"],
                    "env": {{"KEY": "{secret}"}}}}"#
            ),
        )
    };
    let remote = |secret: &str| {
        server(
            "r",
            &format!(
                r#"{{"url": "https://h/s/{secret}{secret}/mcp?token={secret}", "headers": {{"Authorization": "{secret}"}}}}"#
            ),
        )
    };
    let secret = "s3nt1nelv4lue";
    let mut said = String::new();
    for server in [command(secret), remote(secret)] {
        said += &stage.diff(&server);
        stage.approve(&server);
        said += &stage.diff(&server);
    }
    said += &fs::read_to_string(stage.file()).unwrap();
    said += &format!("{:?}", stage.approvals());
    assert!(!said.contains(secret), "{said}");
    assert!(said.contains("--token=***") && said.contains("https://h/s/***/mcp?token=***"), "{said}");

    // A change that cannot be seen is told all the same.
    assert_eq!(stage.verdict(&command("0ther53cret")), Verdict::Changed);
    assert!(stage.diff(&command("0ther53cret")).contains("not shown here changed"));
}

#[test]
fn s10_nothing_invisible_is_approved_unseen() {
    let stage = Stage::new();
    let sly = server("s", "{\"command\": \"c\", \"args\": [\"a\\u001b[2K\\u202eb\\u200b\\ud83d\\ude00\"]}");
    assert_eq!(stage.diff(&sly), "+ command: c\n+ argument: a\\u{1b}[2K\\u{202e}b\\u{200b}😀\n");
}

#[test]
fn the_file_is_for_its_owner_alone() {
    let stage = Stage::new();
    stage.approve(&git());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&stage.file()), 0o600);
    assert_eq!(mode(stage.file().parent().unwrap()), 0o700);
    let left: Vec<_> =
        fs::read_dir(stage.file().parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name != "approvals.json.new"), "{left:?}");
}

#[test]
fn a_broken_file_approves_of_nothing_and_is_kept() {
    let stage = Stage::new();
    stage.approve(&git());
    let whole = fs::read_to_string(stage.file()).unwrap();
    for broken in ["", "{", "[]", "{\"version\": 2, \"projects\": {}}", &whole[..whole.len() / 2]] {
        fs::write(stage.file(), broken).unwrap();
        let mut approvals = stage.approvals();
        assert!(matches!(approvals.problem(), Some(ApprovalError::Broken { .. })), "{broken}");
        assert!(!approvals.is_approved(&stage.project(), &git()));
        // Approving makes it whole again.
        approvals.approve(&stage.project(), &git()).unwrap();
        assert!(approvals.problem().is_none());
        assert_eq!(stage.verdict(&git()), Verdict::Approved);
        assert_eq!(fs::read_to_string(stage.file().with_extension("json.broken")).unwrap(), broken);
    }
}

#[test]
fn a_file_that_others_may_write_approves_of_nothing() {
    let stage = Stage::new();
    stage.approve(&git());
    fs::set_permissions(stage.file(), fs::Permissions::from_mode(0o620)).unwrap();
    let approvals = stage.approvals();
    assert!(!approvals.is_approved(&stage.project(), &git()));
    let said = approvals.problem().unwrap().to_string();
    assert!(said.contains("try: chmod 600 "), "{said}");
}

/// Many at once, each with a reading of its own that is out of date: none loses what another said.
#[test]
fn approvals_of_many_processes_add_up() {
    let stage = Stage::new();
    let names: Vec<String> = (0..16).map(|n| format!("s{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let mut approvals = stage.approvals();
            let project = stage.project();
            scope.spawn(move || approvals.approve(&project, &server(name, r#"{"command": "c"}"#)).unwrap());
        }
    });
    for name in &names {
        assert_eq!(stage.verdict(&server(name, r#"{"command": "c"}"#)), Verdict::Approved, "{name}");
    }
}
