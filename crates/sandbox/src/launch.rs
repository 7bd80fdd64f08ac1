//! The process between the caller and the sandbox.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
        set_parent_process_death_signal, wait,
    },
};

use crate::{
    Level, Policy,
    cgroup::Cgroup,
    init::{self, Function, PROGRAM_VARIABLE},
    limits::{self, Excess},
    namespaces, raw_calls,
};

/// The argument that makes a program the helper.
const HELPER: &str = "__sandbox";
/// Still the running program when its file was deleted or replaced.
const CURRENT_EXE: &str = "/proc/self/exe";
/// How often memory and processes are counted.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The exit code when the sandbox could not be built, in which case the program did not run.
const FAILED: u8 = 125;
/// What its reason begins with, on standard error.
const REASON: &str = "toolbay: cannot build the sandbox: ";

/// Must be the first line of `main`: becomes the helper, and never returns, if this program was started as one.
pub fn run_if_asked() {
    run_functions_if_asked(&[]);
}

/// As [`run_if_asked`], for a program with functions that run in sandboxes.
pub fn run_functions_if_asked(functions: &[Function]) {
    let mut arguments = env::args_os().skip(1);
    let code = match arguments.next() {
        Some(first) if first == HELPER => start(arguments),
        Some(first) if first == init::ARGUMENT => init::run(arguments, functions),
        _ => return,
    };
    let code = code.unwrap_or_else(|error| {
        eprintln!("{REASON}{error}");
        FAILED
    });
    std::process::exit(code.into());
}

/// Why a sandbox could not be built, from the exit code and the standard error of a helper. `None` if the program ran.
pub fn setup_failure(exit_code: i32, stderr: &str) -> Option<&str> {
    // Programs can exit with this code, too.
    let reason = stderr.strip_prefix(REASON).filter(|_| exit_code == i32::from(FAILED))?;
    Some(reason.trim_end())
}

/// Which program becomes the helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper(PathBuf);

impl Helper {
    /// This program itself, even if its file was replaced since. Its `main` must begin with [`run_if_asked`].
    pub fn current_exe() -> Self {
        Self(CURRENT_EXE.into())
    }

    /// Another program whose `main` begins with [`run_if_asked`].
    pub fn program(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The program to start.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The arguments with which it runs `command` in a sandbox, in the directory that the helper is started in. At
    /// [`Level::Full`] the process that calls this must be the one that starts the helper.
    ///
    /// # Errors
    /// If a path of the policy is not UTF-8.
    pub fn arguments<'a>(
        policy: &Policy,
        command: impl IntoIterator<Item = &'a OsStr>,
    ) -> serde_json::Result<Vec<OsString>> {
        let parent = std::process::id().to_string();
        let mut arguments = vec![HELPER.into(), parent.into(), serde_json::to_string(policy)?.into()];
        arguments.extend(command.into_iter().map(OsString::from));
        Ok(arguments)
    }

    /// The environment with which the helper is started, so that the program gets `environment`.
    ///
    /// The helper is not confined yet, so it must not use these variables itself: `LD_PRELOAD` would be code of the program.
    pub fn environment(environment: BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
        let rename = |(name, value): (OsString, OsString)| {
            let mut renamed = OsString::from(PROGRAM_VARIABLE);
            renamed.push(name);
            (renamed, value)
        };
        environment.into_iter().map(rename).collect()
    }
}

/// The helper: enters namespaces, starts init, and watches all that it starts.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where sandboxes are started; they end with this process"
)]
fn start(mut arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent: Option<i32> = arguments.next().and_then(|pid| pid.to_str()?.parse().ok());
    let text = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let policy: Policy = serde_json::from_slice(text.as_encoded_bytes())?;
    let cgroup = match policy.level {
        Level::None => None,
        Level::Partial | Level::Full => Cgroup::create(&policy.limits),
    };
    if policy.level == Level::Full {
        if getppid().map(|pid| pid.as_raw_nonzero().get()) != parent {
            return Err(io::Error::other("the process that started it has ended"));
        }
        namespaces::enter(policy.network)
            .map_err(|error| io::Error::new(error.kind(), format!("no user namespaces: {error}")))?;
    }
    raw_calls::close_inherited_on_exec()?;
    let mut init = Command::new(CURRENT_EXE);
    let directory = cgroup.as_ref().map(Cgroup::directory).unwrap_or(Path::new(""));
    init.arg(init::ARGUMENT).arg(text).arg(directory).args(arguments);
    if policy.level != Level::Full {
        set_child_subreaper(Some(getpid()))?;
    }
    let status = watch(init.spawn()?, &policy)?;
    if policy.level != Level::Full {
        end_rest();
    }
    if cgroup.is_some_and(|cgroup| cgroup.was_out_of_memory()) {
        eprintln!("toolbay: {}", Excess::Memory(policy.limits.memory));
    }
    Ok(exit_code(status))
}

/// Waits for the end of init, and ends it if all below it use more than they may.
///
/// On this thread: a process whose children get a namespace of their own can start no other.
fn watch(mut init: Child, policy: &Policy) -> io::Result<ExitStatus> {
    let process = i32::try_from(init.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let ended = pidfd_open(process, PidfdFlags::empty())?;
    let free = limits::free_disk(policy);
    let mut is_killed = false;
    loop {
        let mut waits = [PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut waits, Some(&WATCH)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return init.wait(),
            Err(errno) => return Err(errno.into()),
        }
        if !is_killed && let Some(excess) = Excess::find(init.id(), policy, free) {
            eprintln!("toolbay: {excess}");
            init.kill()?;
            is_killed = true;
        }
    }
}

/// Ends what a program left that has no namespace of its own. It belongs to this process by now.
fn end_rest() {
    loop {
        let mut left = limits::children(std::process::id());
        let mut next = 0;
        while let Some(&process) = left.get(next) {
            next += 1;
            left.extend(limits::children(process));
        }
        for process in left.into_iter().filter_map(|process| Pid::from_raw(process.try_into().ok()?)) {
            let _ = kill_process(process, Signal::KILL);
        }
        // Another round for each that has ended: it may have left more.
        if let Err(Errno::CHILD) = wait(WaitOptions::empty()) {
            return;
        }
    }
}

/// As a shell has it: 128 and the number of the signal for a process that was ended by one.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| code.try_into().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_helper_that_failed_says_so() {
        assert_eq!(setup_failure(125, "toolbay: cannot build the sandbox: no\n"), Some("no"));
        assert_eq!(setup_failure(125, "no\n"), None);
        assert_eq!(setup_failure(1, "toolbay: cannot build the sandbox: no\n"), None);
    }
}
