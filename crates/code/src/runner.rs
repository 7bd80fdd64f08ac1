//! Runs code in processes of its own, and answers their calls of tools.

mod process;
mod run;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use toolbay_sandbox::{Helper, Level, Limits};
use toolbay_supervise::{Shim, SpawnError};

use self::{process::Processes, run::Run};

/// How code is run.
#[derive(Debug, Clone)]
pub struct CodeOptions {
    /// The least that its sandbox must be.
    pub sandbox: Level,
    /// What a run may use of the machine. Its memory is that of the whole process.
    pub limits: Limits,
    /// How many runs there may be at once.
    pub max_runs: usize,
    /// Which program becomes the sandbox. It has the function of this crate.
    pub helper: Helper,
    /// What ends processes that are not in a full sandbox, when this program is killed.
    pub shim: Shim,
}

impl Default for CodeOptions {
    fn default() -> Self {
        Self {
            sandbox: Level::Full,
            limits: Limits { processes: 1, memory: 64 << 20, cpu_seconds: 30, file_size: 0, free_disk: 0 },
            max_runs: 16,
            helper: Helper::current_exe(),
            shim: Shim::current_exe(),
        }
    }
}

/// A call of a tool that code makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its server, where the code names one: then `name` is that which the server has for it.
    pub server: Option<String>,
    /// Else this is the name that clients call.
    pub name: String,
    /// Its arguments, as JSON text.
    pub arguments: Box<str>,
}

/// What a call of a tool came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReply {
    /// The result of `tools/call`, as JSON text.
    Result(Bytes),
    /// There is none, for this reason.
    Failed(String),
}

/// Answers the calls of tools that code makes.
pub trait ToolCaller: Sync {
    /// Calls a tool. Dropping the future cancels the call.
    fn call(&self, call: ToolCall) -> impl Future<Output = ToolReply> + Send;
}

/// What code came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its value as text, if it has one, or why it failed.
    pub outcome: Result<Option<String>, String>,
    /// What it logged.
    pub logs: Vec<String>,
    /// How many lines of the log there was no room for.
    pub omitted_logs: usize,
    /// How many tools it called.
    pub calls: usize,
}

/// Why code was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodeError {
    /// This system cannot confine it well enough.
    #[error("nothing was run: this system has no {least} sandbox ({reason})")]
    Sandbox { least: Level, found: Level, reason: String },
    /// Too much runs already.
    #[error("nothing was run: {max_runs} other runs have not ended yet; try again later")]
    Busy { max_runs: usize },
    /// Its process cannot be started.
    #[error("nothing was run: {0}")]
    Start(#[from] SpawnError),
    /// Its process ended before it got the code.
    #[error("nothing was run: {0}")]
    Ended(String),
}

/// Runs code, each in a process of its own.
#[derive(Debug)]
pub struct CodeRunner {
    processes: Processes,
    max_runs: usize,
    running: Semaphore,
}

impl CodeRunner {
    /// Its tasks run on `tasks`, and end with the processes.
    pub fn new(options: CodeOptions, tasks: TaskTracker) -> Self {
        let max_runs = options.max_runs;
        Self { processes: Processes::new(options, tasks), max_runs, running: Semaphore::new(max_runs) }
    }

    /// Runs code for at most `timeout`. Dropping the future ends it, and cancels the calls that it has made.
    ///
    /// # Errors
    /// If it was not run at all. Code that fails is [`Finished`], too.
    pub async fn run(
        &self,
        code: &str,
        timeout: Duration,
        caller: &impl ToolCaller,
    ) -> Result<Finished, CodeError> {
        let busy = CodeError::Busy { max_runs: self.max_runs };
        let _running = self.running.try_acquire().map_err(|_| busy)?;
        let process = self.processes.take().await?;
        let finished = Run::new(process, self.processes.tasks().clone(), code).finish(timeout, caller).await;
        self.processes.prepare();
        finished
    }
}
