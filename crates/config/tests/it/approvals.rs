//! Approvals of servers of a project.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use toolbay_config::{ApprovalError, ApprovalState, Approvals, Permission, WrittenServer};

use crate::support::launch;

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

    fn approve(&self, launch: &WrittenServer) {
        self.approvals().approve(&self.project(), launch).unwrap();
    }

    fn verdict(&self, launch: &WrittenServer) -> ApprovalState {
        self.approvals().verdict(&self.project(), launch)
    }

    fn diff(&self, launch: &WrittenServer) -> String {
        let lines = self.approvals().diff(&self.project(), launch);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn git() -> WrittenServer {
    launch("git", r#"{"command": "uvx", "args": ["mcp-server-git"], "env": {"TOKEN": "s3cret"}}"#)
}

#[test]
fn s22_servers_of_a_project_wait_for_approval() {
    let stage = Stage::new();
    let permission =
        |launch: &WrittenServer| stage.approvals().judge(&stage.project(), launch.permission, launch);
    assert_eq!(permission(&git()), Permission::Pending);
    stage.approve(&git());
    assert_eq!(permission(&git()), Permission::Enabled);
    assert!(stage.approvals().is_approved(&stage.project(), &git()));

    // S11: edited on disk, it waits again.
    let edited =
        launch("git", r#"{"command": "uvx", "args": ["mcp-server-evil"], "env": {"TOKEN": "s3cret"}}"#);
    assert_eq!(permission(&edited), Permission::Pending);

    stage.approvals().reject(&stage.project(), &git()).unwrap();
    assert_eq!(permission(&git()), Permission::Disabled);
    assert_eq!(permission(&edited), Permission::Pending);
    assert!(stage.approvals().forget(&stage.project(), "git").unwrap());
    assert!(!stage.approvals().forget(&stage.project(), "git").unwrap());
    assert_eq!(permission(&git()), Permission::Pending);

    // What is off stays off, approved or not.
    let off = WrittenServer { permission: Permission::Disabled, ..git() };
    stage.approve(&off);
    assert_eq!(permission(&off), Permission::Disabled);
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
    let entry = |args: &str, env: &str, rest: &str| {
        format!(r#"{{"command": "node", "args": [{args}], "env": {{{env}}}{rest}}}"#)
    };
    let env = r#""TOKEN": "${TOKEN}", "NODE_OPTIONS": "--no-warnings""#;
    let base = entry(r#""x.js""#, env, "");
    stage.approve(&launch("s", &base));
    let changed = |from: &str, to: &str| base.replace(from, to);
    let with = |tuning: &str| entry(r#""x.js""#, env, &format!(r#", "toolbay": {{{tuning}}}"#));
    for (entry, expected) in [
        (base.clone(), ApprovalState::Approved),
        (with(r#""idle_timeout": 9, "start": "on-demand", "heartbeat": 5"#), ApprovalState::Approved),
        // When the same launch runs again, and how calls wait for it.
        (with(r#""restart": "never", "serialize_writes": true"#), ApprovalState::Approved),
        (changed("node", "nodejs"), ApprovalState::Changed),
        (changed("x.js", "y.js"), ApprovalState::Changed),
        (changed(r#"["x.js"]"#, r#"["x.js", ""]"#), ApprovalState::Changed),
        (changed("--no-warnings", "--require=./evil.js"), ApprovalState::Changed),
        (changed(r#""TOKEN""#, r#""X": "1", "TOKEN""#), ApprovalState::Changed),
        // Another literal, another secret, or the same one with something else around it.
        (changed("${TOKEN}", "1"), ApprovalState::Changed),
        (changed("${TOKEN}", "${AWS_SECRET_ACCESS_KEY}"), ApprovalState::Changed),
        (changed("${TOKEN}", "${TOKEN:-x}"), ApprovalState::Changed),
        (changed("${TOKEN}", "x${TOKEN}"), ApprovalState::Changed),
        (changed("${TOKEN}", "${file:/etc/shadow}"), ApprovalState::Changed),
        (entry(r#""x.js""#, env, r#", "cwd": "/tmp""#), ApprovalState::Changed),
        (entry(r#""x.js""#, env, r#", "envFile": ".env""#), ApprovalState::Changed),
        (with(r#""inherit_env": "all""#), ApprovalState::Changed),
        (with(r#""stderr": {"file": "/home/me/.bashrc"}"#), ApprovalState::Changed),
        // What gives more than others have.
        (with(r#""roots": ["file:///"]"#), ApprovalState::Changed),
        (with(r#""instances": {"pool": 64}"#), ApprovalState::Changed),
        (with(r#""max_message": 1000000000000"#), ApprovalState::Changed),
        (with(r#""max_in_flight": 100000"#), ApprovalState::Changed),
        (with(r#""validate": "off""#), ApprovalState::Changed),
        (with(r#""tools": {"allow": ["*"]}"#), ApprovalState::Changed),
        (with(r#""tools": {"deny": ["x"]}"#), ApprovalState::Changed),
        (r#"{"url": "http://h/"}"#.to_owned(), ApprovalState::Changed),
    ] {
        assert_eq!(stage.verdict(&launch("s", &entry)), expected, "{entry}");
        assert_eq!(stage.verdict(&launch("other", &entry)), ApprovalState::Unknown);
    }
}

#[test]
fn s11_a_url_and_its_headers_are_bound_too() {
    let stage = Stage::new();
    stage.approve(&launch("s", r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "${KEY}"}}"#));
    for (entry, expected) in [
        (r#"{"url": "https://h/mcp?k=1", "headers": {"x-key": "${KEY}"}}"#, ApprovalState::Approved),
        (r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "2"}}"#, ApprovalState::Changed),
        (r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "${OTHER}"}}"#, ApprovalState::Changed),
        (r#"{"url": "https://evil/mcp?k=1", "headers": {"X-Key": "${KEY}"}}"#, ApprovalState::Changed),
        (r#"{"url": "https://h/mcp?k=2", "headers": {"X-Key": "${KEY}"}}"#, ApprovalState::Changed),
        (
            r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "${KEY}", "Cookie": "1"}}"#,
            ApprovalState::Changed,
        ),
        (
            r#"{"url": "https://h/mcp?k=1", "headers": {"X-Key": "${KEY}"}, "type": "sse"}"#,
            ApprovalState::Changed,
        ),
    ] {
        assert_eq!(stage.verdict(&launch("s", entry)), expected, "{entry}");
    }
}

/// What a file asks people for may have a default in the same file.
#[test]
fn s11_defaults_of_inputs_are_bound() {
    let stage = Stage::new();
    let with = |default: &str| {
        let text = format!(
            r#"{{"inputs": [{{"id": "a", "type": "promptString", "default": "{default}"}}],
                "servers": {{"s": {{"command": "c", "args": ["${{input:a}}"]}}}}}}"#
        );
        toolbay_config::parse(&text, Path::new("/p/.vscode/mcp.json")).unwrap().launches.remove(0)
    };
    stage.approve(&with("good"));
    assert_eq!(stage.verdict(&with("good")), ApprovalState::Approved);
    assert_eq!(stage.verdict(&with("evil")), ApprovalState::Changed);
    assert!(stage.diff(&with("evil")).contains("+ argument: ${input:a:-evil}\n"));
}

#[test]
fn s22_an_approval_shows_which_secrets_a_server_is_given() {
    let stage = Stage::new();
    for (entry, lines) in [
        (
            r#"{"url": "https://h/${TENANT}/mcp?q=${Q}", "headers": {"X-Trace": "${AWS_SECRET_ACCESS_KEY}", "B": "x",
                "Authorization": "Bearer ${file:/root/.ssh/id_rsa}"}, "toolbay": {"ca": "/ca.pem"}}"#,
            &[
                "url: https://h/${TENANT}/mcp?q=${Q}",
                "transport: auto",
                "header: authorization = \"Bearer ${file:/root/.ssh/id_rsa}\"",
                "header: b = ***",
                "header: x-trace = ${AWS_SECRET_ACCESS_KEY}",
                "reads file: /root/.ssh/id_rsa",
                "trusts certificates in: /ca.pem",
            ][..],
        ),
        (
            r#"{"command": "c", "args": ["--opt", "${AWS_SECRET_ACCESS_KEY}", "--x=${GITHUB_TOKEN}", "a b "],
                "env": {"A": "s3cret", "FOO": "${GITHUB_TOKEN}", "NODE_OPTIONS": "--x", "Z": "z${Y:-w}"},
                "toolbay": {"roots": ["file:///"], "inherit_env": ["SSH_*"], "idle_timeout": 4, "validate": "off"}}"#,
            &[
                "command: c",
                "argument: --opt",
                "argument: ${AWS_SECRET_ACCESS_KEY}",
                "argument: --x=${GITHUB_TOKEN}",
                "argument: \"a b \"",
                "variable: NODE_OPTIONS = --x",
                "variable: A = ***",
                "variable: FOO = ${GITHUB_TOKEN}",
                "variable: Z = ***${Y:-***}",
                "inherits also: SSH_*",
                "setting: roots = [\"file:///\"]",
                "setting: validate = \"off\"",
            ],
        ),
        (
            r#"{"command": "c", "envFile": "/e/.env", "env": {"FOO": "${env:TOKEN}"}}"#,
            &["command: c", "variable: FOO = ${TOKEN}", "reads variables from: /e/.env"],
        ),
        (
            r#"{"builtin": "codebase", "root": "/src",
                "embeddings": {"url": "https://e/v1", "model": "m", "api_key": "${OPENAI_API_KEY}"}}"#,
            &[
                "built-in: codebase",
                "shows the folder: /src",
                "setting: embeddings.api_key = ${OPENAI_API_KEY}",
                "setting: embeddings.model = m",
                "sends code to: https://e/v1",
            ],
        ),
    ] {
        let diff = stage.diff(&launch("s", entry));
        let mut shown: Vec<&str> = diff.lines().map(|line| line.trim_start_matches("+ ")).collect();
        let mut lines = lines.to_vec();
        if entry.contains("builtin") {
            // In no order that matters.
            shown.sort_unstable();
            lines.sort_unstable();
        }
        assert_eq!(shown, lines);
    }
}

/// Whatever a variable is worth: it is nowhere in what is shown and kept.
#[test]
fn s23_values_of_variables_are_neither_shown_nor_kept() {
    let stage = Stage::new();
    let text = r#"{"mcpServers": {"s": {"command": "c", "args": ["${A}"], "env": {"B": "${A}"}}}}"#;
    let with = |value: &str| {
        let env = [("A".to_owned(), value.to_owned())].into();
        let variables = toolbay_config::Variables { env, ..Default::default() };
        toolbay_config::parse_with(text, Path::new("/etc/mcp.json"), &variables).unwrap().launches.remove(0)
    };
    stage.approve(&with("s3nt1nel"));
    assert!(!fs::read_to_string(stage.file()).unwrap().contains("s3nt1nel"));
    assert!(!stage.diff(&with("s3nt1nel")).contains("s3nt1nel"));
    assert_eq!(stage.verdict(&with("another")), ApprovalState::Approved, "a secret may be renewed");
}

/// One that was approved when less of it was shown is asked about again.
#[test]
fn approvals_of_an_earlier_version_ask_again() {
    let stage = Stage::new();
    stage.approve(&git());
    let now = fs::read_to_string(stage.file()).unwrap();
    let old = now.replace("\"version\": 2", "\"version\": 1");
    assert_ne!(now, old);
    fs::write(stage.file(), &old).unwrap();
    let mut approvals = stage.approvals();
    assert!(matches!(approvals.problem(), Some(ApprovalError::Outdated { .. })));
    assert!(approvals.problem().unwrap().to_string().contains("please approve again"));
    assert_eq!(stage.verdict(&git()), ApprovalState::Unknown);
    approvals.approve(&stage.project(), &git()).unwrap();
    assert_eq!(stage.verdict(&git()), ApprovalState::Approved);
    assert_eq!(fs::read_to_string(stage.file().with_extension("json.broken")).unwrap(), old);
}

#[test]
fn s11_the_diff_shows_what_changed_since_the_approval() {
    let stage = Stage::new();
    let old = launch("s", r#"{"command": "npx", "args": ["-y", "x@1.0.0", "/data"], "env": {"A": "1"}}"#);
    assert_eq!(
        stage.diff(&old),
        "+ command: npx\n+ argument: -y\n+ argument: x@1.0.0\n+ argument: /data\n+ variable: A = ***\n"
    );
    stage.approve(&old);
    let new = launch(
        "s",
        r#"{"command": "npx", "args": ["-y", "x@1.0.16", "/data"], "env": {"A": "1", "B": "2"}}"#,
    );
    assert_eq!(
        stage.diff(&new),
        "  command: npx\n  argument: -y\n- argument: x@1.0.0\n+ argument: x@1.0.16\n  argument: /data\n  \
         variable: A = ***\n+ variable: B = ***\n"
    );
    assert!(stage.diff(&old).lines().all(|line| line.starts_with("  ")));
}

#[test]
fn s23_no_secret_is_stored_or_shown() {
    let stage = Stage::new();
    let command = |secret: &str| {
        launch(
            "c",
            &format!(
                r#"{{"command": "c", "args": ["--api-key", "{secret}", "--token={secret}", "-e", "DB_PASSWORD={secret}",
                    "Authorization: Bearer {secret}", "sk-{secret}", "https://u:{secret}@h/?x={secret}"],
                    "env": {{"KEY": "{secret}"}}}}"#
            ),
        )
    };
    let remote = |secret: &str| {
        launch(
            "r",
            &format!(
                r#"{{"url": "https://h/s/{secret}{secret}/mcp?token={secret}", "headers": {{"Authorization": "{secret}"}}}}"#
            ),
        )
    };
    let secret = "s3nt1nelv4lue";
    let mut said = String::new();
    for launch in [command(secret), remote(secret)] {
        said += &stage.diff(&launch);
        stage.approve(&launch);
        said += &stage.diff(&launch);
    }
    said += &fs::read_to_string(stage.file()).unwrap();
    said += &format!("{:?}", stage.approvals());
    assert!(!said.contains(secret), "{said}");
    assert!(said.contains("--token=***") && said.contains("https://h/s/***/mcp?token=***"), "{said}");

    // A change that cannot be seen is told all the same.
    assert_eq!(stage.verdict(&command("0ther53cret")), ApprovalState::Changed);
    assert!(stage.diff(&command("0ther53cret")).contains("not shown here changed"));
}

#[test]
fn s10_nothing_invisible_is_approved_unseen() {
    let stage = Stage::new();
    let sly = launch("s", "{\"command\": \"c\", \"args\": [\"a\\u001b[2K\\u202eb\\u200b\\ud83d\\ude00\"]}");
    assert_eq!(stage.diff(&sly), "+ command: c\n+ argument: \"a\\u{1b}[2K\\u{202e}b\\u{200b}😀\"\n");
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
    for broken in ["", "{", "[]", "{\"version\": 3, \"projects\": {}}", &whole[..whole.len() / 2]] {
        fs::write(stage.file(), broken).unwrap();
        let mut approvals = stage.approvals();
        assert!(matches!(approvals.problem(), Some(ApprovalError::Broken { .. })), "{broken}");
        assert!(!approvals.is_approved(&stage.project(), &git()));
        // Approving makes it whole again.
        approvals.approve(&stage.project(), &git()).unwrap();
        assert!(approvals.problem().is_none());
        assert_eq!(stage.verdict(&git()), ApprovalState::Approved);
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
            scope.spawn(move || approvals.approve(&project, &launch(name, r#"{"command": "c"}"#)).unwrap());
        }
    });
    for name in &names {
        assert_eq!(stage.verdict(&launch(name, r#"{"command": "c"}"#)), ApprovalState::Approved, "{name}");
    }
}
