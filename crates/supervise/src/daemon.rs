//! Starting this program again as a daemon, which outlives the process that started it.
//!
//! Clients end what they started in their own ways: a signal to the process group, to the session, or to every descendant. A
//! daemon must be none of these, so it is started by a process in between, which makes a session of its own and ends at once.
//! The daemon is then a child of the system only.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::{Pid, getpid, set_child_subreaper, setsid};
use tokio::io::AsyncReadExt;

use crate::{error::SpawnError, procfs, shim::inherited};

/// The argument that makes a program the process in between.
const ARGUMENT: &str = "__daemon";
/// The running program, even if its file was replaced since.
const CURRENT_EXE: &str = "/proc/self/exe";

/// This program, to be run as a daemon.
#[derive(Debug)]
pub struct Daemon {
    /// What `ps` shows as its name.
    pub name: OsString,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// What it writes to stdout and stderr is added to this file.
    pub log: PathBuf,
}

impl Daemon {
    /// Starts it, and returns its process id. Nothing in this process waits for it.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened or a process cannot be started.
    pub async fn start(&self) -> Result<u32, SpawnError> {
        let name = self.name.to_string_lossy();
        let failed = |source| SpawnError::from_io(&name, source);
        let log = File::options().append(true).create(true).open(&self.log).map_err(failed)?;
        // Orphans go to the nearest process that takes them, which must not be us.
        let was_subreaper = rustix::process::child_subreaper().is_ok_and(|pid| pid.is_some());
        set_child_subreaper(None).map_err(|error| failed(error.into()))?;
        let started = self.start_between(log).await.map_err(failed);
        if was_subreaper {
            set_child_subreaper(Some(getpid())).map_err(|error| failed(error.into()))?;
        }
        started
    }

    /// Runs the process in between to its end. It says the daemon's process id on stdout.
    async fn start_between(&self, log: File) -> io::Result<u32> {
        #[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
        let mut command = tokio::process::Command::new(CURRENT_EXE);
        command.arg0(&self.name).arg(ARGUMENT).arg(&self.name).args(&self.args);
        command.env_clear().envs(&self.env).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut between = command.kill_on_drop(true).spawn()?;
        let mut output = String::new();
        if let Some(stdout) = &mut between.stdout {
            stdout.read_to_string(&mut output).await?;
        }
        between.wait().await?;
        output.trim().parse().map_err(|_| io::Error::other("the intermediate process exited too early"))
    }
}

/// Whether a process runs, of whatever user.
pub fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.and_then(procfs::read).is_some_and(|process| !process.zombie)
}

/// Must be called first in `main`: starts the daemon, and never returns, if this program was started to do so.
pub fn run_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|argument| argument != ARGUMENT) {
        return;
    }
    inherited::close();
    let name = arguments.next().unwrap_or_default();
    let code = match start(name, arguments) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot start in the background: {error}");
            1
        }
    };
    std::process::exit(code);
}

fn start(name: OsString, arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    setsid()?;
    // Its own: what the process in between says there is read to the end.
    let log = File::options().append(true).open("/proc/self/fd/2")?;
    #[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
    let mut command = Command::new(CURRENT_EXE);
    command.arg0(name).args(arguments).stdin(Stdio::null()).stdout(log);
    let daemon = command.spawn()?;
    writeln!(io::stdout(), "{}", daemon.id())
}
