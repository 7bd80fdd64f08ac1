//! Ignoring SIGTERM without a line of unsafe code: a shell sets it to be ignored, and that survives `exec`.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

/// The bit of SIGTERM in the masks of `/proc/self/status`.
const SIGTERM_BIT: u64 = 1 << 14;

pub(super) fn sigterm_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGTERM_BIT != 0)
}

/// Becomes this program again, with SIGTERM ignored. Returns only when that failed.
pub(super) fn with_sigterm_ignored(arguments: &[String]) -> ExitCode {
    let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
    #[expect(clippy::disallowed_methods, reason = "replaces this process, starts none")]
    let mut shell = Command::new("/bin/sh");
    let error = shell.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(program).args(arguments).exec();
    eprintln!("hostile: cannot ignore SIGTERM: {error}");
    ExitCode::FAILURE
}
