//! Children that want to outlive the server.

use std::{
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use super::{append, sleep_forever};

/// The first argument of a process that is one of them.
const ROLE: &str = "--descendant";

/// Starts three: one that keeps our pipes, one in a session of its own, one that lost its parents.
pub(super) fn spawn(pid_file: Option<&Path>) {
    for role in ["plain", "setsid", "daemon-parent"] {
        spawn_one(role, pid_file);
    }
}

fn spawn_one(role: &str, pid_file: Option<&Path>) {
    let Ok(program) = std::env::current_exe() else { return };
    #[expect(clippy::disallowed_methods, reason = "a hostile server leaves processes behind")]
    let mut command = Command::new(program);
    command.args([ROLE, role]).args(pid_file).stdin(Stdio::null());
    if role != "plain" {
        command.stdout(Stdio::null());
    }
    if role == "daemon" {
        command.stderr(Stdio::null());
    }
    match command.spawn() {
        // The one in the middle of a double fork ends at once.
        Ok(mut child) if role == "daemon-parent" => drop(child.wait()),
        Ok(_) => {}
        Err(error) => eprintln!("hostile: cannot start {role}: {error}"),
    }
}

/// Plays the descendant, if this process was started as one.
pub(super) fn run_if_asked(arguments: &[String]) -> Option<ExitCode> {
    let [flag, role, rest @ ..] = arguments else { return None };
    if flag != ROLE {
        return None;
    }
    let pid_file = rest.first().map(Path::new);
    if role != "plain" {
        let _ = rustix::process::setsid(); // fails only where it is one already
    }
    if role == "daemon-parent" {
        spawn_one("daemon", pid_file);
        return Some(ExitCode::SUCCESS);
    }
    if let Some(file) = pid_file {
        append(file, format!("{role} {}", std::process::id()).as_bytes());
    }
    sleep_forever()
}
