//! The processes in which code runs.

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use toolbay_sandbox::{Helper, Level, Policy, Probe, probe};
use toolbay_supervise::{Launch, Process, Shim, StderrPolicy, StopGrace, spawn};

use super::{CodeError, CodeOptions};
use crate::ENGINE;

/// Starts them.
#[derive(Debug)]
pub(super) struct Processes {
    options: CodeOptions,
    tasks: TaskTracker,
    /// The best sandbox of this system, found out with the first run.
    probe: OnceCell<Probe>,
}

impl Processes {
    pub(super) fn new(options: CodeOptions, tasks: TaskTracker) -> Self {
        Self { options, tasks, probe: OnceCell::new() }
    }

    /// Starts a process that waits for code. Dropping its handle ends it.
    pub(super) async fn start(&self) -> Result<Process, CodeError> {
        let level = self.level().await?;
        let policy = Policy::for_function(level, ENGINE, self.options.limits);
        let launch = Launch {
            name: "run_code".to_owned(),
            command: self.options.helper.path().into(),
            args: Helper::arguments(&policy, []).expect("a policy without paths is JSON"),
            env: Helper::environment(BTreeMap::new()),
            cwd: Some("/".into()),
            stderr: StderrPolicy::Capture,
        };
        let grace = StopGrace { after_stdin: Duration::ZERO, after_term: Duration::ZERO };
        // At the full level the kernel ends everything with the helper.
        let none = Shim::none();
        let shim = if level == Level::Full { &none } else { &self.options.shim };
        Ok(spawn(&launch, shim, grace, &self.tasks)?)
    }

    /// The sandbox that code gets.
    async fn level(&self) -> Result<Level, CodeError> {
        let least = self.options.sandbox;
        if least == Level::None {
            return Ok(Level::None);
        }
        let helper = self.options.helper.clone();
        let find = || async {
            let found = tokio::task::spawn_blocking(move || probe(&helper)).await;
            found.map_err(|_| CodeError::Ended("the sandbox cannot be tested".to_owned()))
        };
        let Probe { level, reason } = self.probe.get_or_try_init(find).await?;
        if *level >= least {
            return Ok(*level);
        }
        let reason = reason.clone().unwrap_or_else(|| "not supported".to_owned());
        Err(CodeError::Sandbox { least, found: *level, reason })
    }
}
