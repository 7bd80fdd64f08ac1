//! The processes in which code runs.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::OnceCell, time::sleep};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use toolbay_sandbox::{Helper, Level, Policy, Probe, probe};
use toolbay_supervise::{Launch, Process, Shim, StderrPolicy, StopGrace, spawn};

use super::{CodeError, CodeOptions};
use crate::ENGINE;

/// How long a process that no run has used yet is kept.
const KEEP_SPARE: Duration = Duration::from_secs(60);

/// Starts them.
#[derive(Debug)]
pub(super) struct Processes {
    options: CodeOptions,
    tasks: TaskTracker,
    /// The best sandbox of this system, found out with the first run.
    probe: OnceCell<Probe>,
    /// A process that has seen no code, for the next run: where one run was, others often follow.
    spare: Arc<Mutex<Option<Spare>>>,
    spares: AtomicU64,
    dropped: DropGuard,
}

#[derive(Debug)]
struct Spare {
    process: Process,
    /// Tells it from others.
    number: u64,
}

impl Processes {
    pub(super) fn new(options: CodeOptions, tasks: TaskTracker) -> Self {
        let dropped = CancellationToken::new().drop_guard();
        Self {
            options,
            tasks,
            probe: OnceCell::new(),
            spare: Arc::default(),
            spares: AtomicU64::new(0),
            dropped,
        }
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// A process that waits for code. Dropping its handle ends it.
    pub(super) async fn take(&self) -> Result<Process, CodeError> {
        let spare = self.spare.lock().take();
        match spare.filter(|spare| spare.process.handle.try_exit().is_none()) {
            Some(spare) => Ok(spare.process),
            None => self.start(self.level().await?),
        }
    }

    /// Starts a process for the next run, unless there is one. It ends when no run takes it for a while.
    pub(super) fn prepare(&self) {
        let Some(Probe { level, .. }) = self.probe.get().filter(|_| self.spare.lock().is_none()) else {
            return;
        };
        let Ok(process) = self.start(*level) else { return };
        let number = self.spares.fetch_add(1, Ordering::Relaxed);
        *self.spare.lock() = Some(Spare { process, number });
        let (spares, dropped) = (self.spare.clone(), self.dropped.token().clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = dropped.cancelled() => {}
                () = sleep(KEEP_SPARE) => {
                    // Another one may be the spare by now.
                    spares.lock().take_if(|spare| spare.number == number);
                }
            }
        });
    }

    fn start(&self, level: Level) -> Result<Process, CodeError> {
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
