//! Servers that are killed, and disks that are full, while files are written: old content or new, never a mixture.
//!
//! `cargo xtask verify kills` does more rounds.
#![expect(clippy::disallowed_methods, reason = "starts servers below limits that a shell sets")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

use serde_json::{Value, json};

use crate::{drop_in::Server, program::Home};

/// Large enough that a write takes a while.
const LINES: usize = 20_000;
/// How large a file may become in the tests of full disks.
const ROOM: usize = 256 * 1024;

fn rounds() -> u32 {
    env::var("TOOLBAY_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// The content of a file, every line of which names its version.
fn content(version: u32) -> String {
    format!("version {version}\n").repeat(LINES)
}

/// How a file gets its next version: written anew, or edited in one place.
#[derive(Debug, Clone, Copy)]
enum Change {
    Write,
    Edit,
}

impl Change {
    /// The call, and the content that it leads to.
    fn call(self, before: &str, version: u32) -> (&'static str, Value, String) {
        match self {
            Self::Write => {
                let after = content(version);
                ("write_file", json!({ "path": "file.txt", "content": after }), after)
            }
            Self::Edit => {
                let after = format!("edited {version}\n{before}");
                let first = before.lines().next().unwrap_or_default();
                let edits = json!([{ "oldText": first, "newText": format!("edited {version}\n{first}") }]);
                ("edit_file", json!({ "path": "file.txt", "edits": edits }), after)
            }
        }
    }
}

fn start(home: &Home, directory: &Path) -> Server {
    Server::start(home.command(&["builtin", "filesystem", directory.to_str().unwrap()]), directory)
}

#[test]
fn killed_while_writing() {
    for change in [Change::Write, Change::Edit] {
        killed(change);
    }
}

fn killed(change: Change) {
    let home = Home::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.txt");
    // A first line of its own, so that there is one place to edit.
    let mut before = format!("first\n{}", content(0));
    fs::write(&path, &before).unwrap();
    let mut duration = None;
    let (mut old, mut new, mut most_left) = (0, 0, 0);
    for round in 0..=rounds() {
        let mut server = start(&home, directory.path());
        let (tool, arguments, after) = change.call(&before, round + 1);
        let sent = Instant::now();
        let is_acknowledged = match duration {
            // The first is left alone, to know how long it takes.
            None => {
                let answer = server.call(tool, &arguments, None).unwrap();
                assert!(answer["result"]["isError"].is_null(), "{answer}");
                duration = Some(sent.elapsed());
                true
            }
            Some(duration) => {
                server.send_call(tool, &arguments);
                thread::sleep(duration.mul_f64(f64::from(round) / f64::from(rounds())));
                server.kill();
                server.has_succeeded()
            }
        };
        let found = fs::read_to_string(&path).unwrap();
        let is_new = found == after;
        assert!(is_new || found == before, "round {round} of {change:?}: a mixture of {} bytes", found.len());
        assert!(
            is_new || !is_acknowledged,
            "round {round} of {change:?}: a write that was acknowledged is lost"
        );
        if is_new {
            new += 1
        } else {
            old += 1
        }
        most_left = most_left.max(others(directory.path()).len());
        before = found;
    }
    // What a killed server leaves is removed by the next write.
    let mut server = start(&home, directory.path());
    let (tool, arguments, _) = change.call(&before, rounds() + 2);
    server.call(tool, &arguments, None).unwrap();
    assert_eq!(others(directory.path()), Vec::<PathBuf>::new());
    eprintln!("{change:?}: killed {} times: {old} old, {new} new, at most {most_left} files left", rounds());
    assert!(old > 0 && new > 0, "{change:?}: {old} old, {new} new: the rounds did not meet the writes");
}

/// Whatever is there beside the file itself.
fn others(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().is_some_and(|name| name != "file.txt")).collect()
}

/// Files may have no more than so many bytes: the write in the middle of the new file fails.
#[test]
fn no_room_by_a_limit() {
    let home = Home::new();
    let directory = tempfile::tempdir().unwrap();
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", ROOM / 512);
    full(&home, directory.path(), &["sh", "-c", &script, "sh"]);
    assert_eq!(others(directory.path()), Vec::<PathBuf>::new());
}

/// A disk of its own that is full. Where user namespaces are not allowed, the limit above has to do.
#[test]
fn no_room_on_the_disk() {
    let allowed = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        eprintln!("not tried: no file system can be mounted here");
        return;
    }
    let home = Home::new();
    let directory = tempfile::tempdir().unwrap();
    let script =
        format!("mount -t tmpfs -o size={ROOM} none {0} && exec \"$@\"", directory.path().to_str().unwrap());
    full(&home, directory.path(), &["unshare", "-rm", "sh", "-c", &script, "sh"]);
}

fn full(home: &Home, directory: &Path, launcher: &[&str]) {
    let ours = home.command(&["builtin", "filesystem", directory.to_str().unwrap()]);
    let mut command = Command::new(launcher[0]);
    command.args(&launcher[1..]).arg(ours.get_program()).args(ours.get_args());
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = Server::start(command, directory);
    let mut call = |tool: &str, arguments: Value| -> Result<String, String> {
        let answer = server.call(tool, &arguments, None).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        if answer["result"]["isError"] == true { Err(text) } else { Ok(text) }
    };
    // Half of the room, so that there is none for a second version.
    let old = format!("first\n{}", "some text\n".repeat(ROOM / 20));
    call("write_file", json!({ "path": "file.txt", "content": old })).unwrap();
    for (tool, arguments) in [
        ("write_file", json!({ "path": "file.txt", "content": "y".repeat(ROOM + 1) })),
        (
            "edit_file",
            json!({ "path": "file.txt", "edits": [{ "oldText": "first", "newText": "z".repeat(ROOM) }] }),
        ),
        ("write_file", json!({ "path": "new.txt", "content": "y".repeat(ROOM + 1) })),
    ] {
        let error = call(tool, arguments).expect_err("there is no room");
        assert!(error.contains("No space left") || error.contains("File too large"), "{tool}: {error}");
        assert_eq!(call("read_text_file", json!({ "path": "file.txt" })).unwrap(), old, "{tool}");
        assert_eq!(call("list_directory", json!({ "path": "." })).unwrap(), "[FILE] file.txt", "{tool}");
    }
    // There is room for what is small, so nothing is left of the others.
    call("write_file", json!({ "path": "file.txt", "content": "small" })).unwrap();
    assert_eq!(call("read_text_file", json!({ "path": "file.txt" })).unwrap(), "small");
}
