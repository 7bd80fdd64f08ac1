//! The processes between the caller and the program in the sandbox.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, set_parent_process_death_signal},
};

use crate::{Level, Network, Policy, file_rules, limits, loopback, mounts, namespaces, system_calls};

/// The argument that makes a program the helper.
const HELPER: &str = "__sandbox";
/// The argument that makes it process 1 of the namespace.
const INIT: &str = "__sandbox-init";
/// Still the running program when its file was deleted or replaced.
const CURRENT_EXE: &str = "/proc/self/exe";
/// How often the memory of the program is looked at.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The exit code when the sandbox could not be built, in which case the program did not run. Its reason is on standard error.
pub const HELPER_FAILED: u8 = 125;

/// Must be the first line of `main`: becomes the helper, and never returns, if this program was started as one.
pub fn run_if_asked() {
    let mut arguments = env::args_os().skip(1);
    let code = match arguments.next() {
        Some(first) if first == HELPER => start(arguments),
        Some(first) if first == INIT => init(arguments),
        _ => return,
    };
    let code = code.unwrap_or_else(|error| {
        eprintln!("toolbay: cannot build the sandbox: {error}");
        HELPER_FAILED
    });
    std::process::exit(code.into());
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

    /// The arguments with which it runs `command` in a sandbox. Directory and environment are those that the helper gets.
    ///
    /// # Errors
    /// If a path of the policy is not UTF-8.
    pub fn arguments<'a>(
        policy: &Policy,
        command: impl IntoIterator<Item = &'a OsStr>,
    ) -> serde_json::Result<Vec<OsString>> {
        let mut arguments = vec![HELPER.into(), serde_json::to_string(policy)?.into()];
        arguments.extend(command.into_iter().map(OsString::from));
        Ok(arguments)
    }
}

/// The helper: enters namespaces, starts init, and watches the memory of all that it starts.
fn start(mut arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let text = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let policy: Policy = serde_json::from_slice(text.as_encoded_bytes())?;
    if policy.level == Level::Full {
        let context = |error| io::Error::new(error, format!("no user namespace: {error}"));
        namespaces::enter(policy.network).map_err(|error| context(error.kind()))?;
    }
    let mut init = Command::new(CURRENT_EXE);
    init.arg(INIT).arg(text).args(arguments);
    let mut init = init.spawn()?;
    let status = watch(&mut init, policy.limits.memory)?;
    Ok(exit_code(status))
}

/// Waits for the end of a process, and ends it if all below it use more memory than they may.
///
/// On this thread: a process whose children get a namespace of their own can start no other.
fn watch(init: &mut Child, most: u64) -> io::Result<ExitStatus> {
    let process = i32::try_from(init.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let ended = pidfd_open(process, PidfdFlags::empty())?;
    loop {
        let mut waits = [PollFd::new(&ended, PollFlags::IN)];
        match poll(&mut waits, Some(&WATCH)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return init.wait(),
            Err(errno) => return Err(errno.into()),
        }
        if limits::memory_of(init.id()) > most {
            eprintln!("toolbay: ended, because it used more than {} MiB of memory", most >> 20);
            init.kill()?;
        }
    }
}

/// Process 1: builds the file system, restricts itself, starts the program and reaps what it leaves.
fn init(mut arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let policy: Policy = arguments
        .next()
        .and_then(|policy| serde_json::from_slice(policy.as_encoded_bytes()).ok())
        .ok_or(io::ErrorKind::InvalidInput)?;
    let program = arguments.next().ok_or(io::ErrorKind::InvalidInput)?;
    let directory = env::current_dir()?;
    let is_confined = policy.level == Level::Full;
    if is_confined {
        if policy.network == Network::None {
            loopback::bring_up()?;
        }
        namespaces::enter_mounts()?;
        mounts::enter(&policy)?;
        env::set_current_dir(&directory)?;
        namespaces::drop_capabilities()?;
    }
    if policy.level != Level::None {
        let is_known = file_rules::apply(&policy, is_confined).map_err(io::Error::other)?;
        if !is_known {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel has no Landlock"));
        }
        system_calls::apply(policy.network, is_confined)?;
    }
    limits::apply(&policy.limits)?;
    let mut command = Command::new(&program);
    command.args(arguments).process_group(0);
    match command.spawn() {
        Ok(child) => reap(&child),
        Err(error) => {
            eprintln!("{}: {error}", Path::new(&program).display());
            Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// Waits for all children until the program itself has ended. What is left then ends with this process.
fn reap(program: &Child) -> io::Result<u8> {
    let program = i32::try_from(program.id()).ok();
    loop {
        if let Some((child, status)) = rustix::process::wait(WaitOptions::empty())?
            && Some(child.as_raw_nonzero().get()) == program
        {
            return Ok(exit_code(ExitStatus::from_raw(status.as_raw())));
        }
    }
}

/// As a shell has it: 128 and the number of the signal for a process that was ended by one.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| code.try_into().ok()).unwrap_or(1)
}
