//! A running process as its user holds it.

use std::sync::Arc;

use tokio::{net::unix::pipe, sync::watch};

use crate::{
    exit::{Exit, ExitCause},
    log_ring::LogRing,
};

/// The writing end of the server's stdin. Dropping it is the polite way to ask the server to end.
pub type ChildStdin = pipe::Sender;
/// The reading end of the server's stdout.
pub type ChildStdout = pipe::Receiver;

/// A process that was just started.
#[derive(Debug)]
pub struct Process {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    /// With [`StderrPolicy::Pipe`](crate::StderrPolicy::Pipe).
    pub stderr: Option<ChildStdout>,
    pub handle: ProcessHandle,
}

/// Asks about and stops a process. When the last clone is dropped, the whole tree is killed.
#[derive(Clone, Debug)]
pub struct ProcessHandle {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Invariant: held here alone, so that the watcher learns when the last handle was dropped.
    pub(crate) wish: watch::Sender<StopRequest>,
    pub(crate) state: watch::Receiver<ProcessState>,
    pub(crate) ring: Arc<LogRing>,
}

/// What the holders of handles want. Only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopRequest {
    Run,
    Stop,
    Kill,
}

/// What the watcher knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessState {
    pub(crate) pid: Option<u32>,
    pub(crate) exit: Option<Exit>,
}

impl ProcessHandle {
    /// The server's process id; none until its shim has started it. Stays known after the exit.
    pub fn pid(&self) -> Option<u32> {
        self.inner.state.borrow().pid
    }

    /// Resolves when the server was executed, with its process id, or else with how that failed. Cancel-safe.
    ///
    /// # Errors
    ///
    /// When it never ran: see [`ExitCause::NotStarted`].
    pub async fn started(&self) -> Result<u32, Exit> {
        let mut state = self.inner.state.clone();
        let seen = state.wait_for(|state| state.pid.is_some() || state.exit.is_some()).await;
        match seen.as_deref() {
            Ok(ProcessState { pid: Some(pid), .. }) => Ok(*pid),
            Ok(ProcessState { exit: Some(exit), .. }) => Err(exit.clone()),
            Ok(_) | Err(_) => Err(Exit::unseen(ExitCause::Lost)),
        }
    }

    /// Its log: stderr if captured, and whatever others add.
    pub fn stderr(&self) -> Arc<LogRing> {
        Arc::clone(&self.inner.ring)
    }

    /// Resolves when the server has ended, all it started too, and its stderr was read to the end.
    /// Cancel-safe; any number may wait.
    pub async fn exited(&self) -> Exit {
        let mut state = self.inner.state.clone();
        let seen = state.wait_for(|state| state.exit.is_some()).await;
        let exit = seen.ok().and_then(|state| state.exit.clone());
        // Without an exit the watcher is gone, and the runtime with it; dropping it has killed the tree.
        exit.unwrap_or_else(|| Exit::unseen(ExitCause::Lost))
    }

    /// How it ended, if it has.
    pub fn try_exit(&self) -> Option<Exit> {
        self.inner.state.borrow().exit.clone()
    }

    /// Asks the whole tree to end: at once the clock runs for the server to heed the end of its stdin (which the
    /// caller has dropped), then comes SIGTERM, then SIGKILL. Returns at once; [`exited`](Self::exited) tells when.
    pub fn stop(&self) {
        self.request_stop(StopRequest::Stop);
    }

    /// Ends the whole tree with SIGKILL. Returns at once; [`exited`](Self::exited) tells when.
    pub fn kill(&self) {
        self.request_stop(StopRequest::Kill);
    }

    fn request_stop(&self, wish: StopRequest) {
        self.inner.wish.send_if_modified(|current| {
            let grows = wish > *current;
            *current = wish.max(*current);
            grows
        });
    }
}
