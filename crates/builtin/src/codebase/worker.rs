//! Work on a tree, which blocks, beside the tasks that must not.

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolbay_server::Progress;

use super::{Code, CodeError, output::ToolOutcome};

/// A tree that is opened when it is first used, and then shared.
pub struct Opener {
    open: Box<dyn Fn() -> Result<Arc<dyn Code>, CodeError> + Send + Sync>,
    opened: Mutex<Option<Arc<dyn Code>>>,
}

impl Opener {
    /// Opens with `open`; when that fails it is tried again by whoever comes next.
    pub fn new(open: impl Fn() -> Result<Arc<dyn Code>, CodeError> + Send + Sync + 'static) -> Self {
        Self { open: Box::new(open), opened: Mutex::default() }
    }

    /// The tree. Blocks while it is opened, by whomever.
    pub fn tree(&self) -> Result<Arc<dyn Code>, CodeError> {
        let mut opened = self.opened.lock();
        if let Some(tree) = &*opened {
            return Ok(tree.clone());
        }
        let tree = (self.open)()?;
        *opened = Some(tree.clone());
        Ok(tree)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// Says that nobody waits any more.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for those who only look.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Sets the flag when whoever waits goes away.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// One piece of work.
#[derive(Debug)]
pub struct TreeWork {
    tree: Arc<dyn Code>,
    stop: Stop,
    progress: Progress,
}

impl TreeWork {
    /// Work that nobody stops or listens to.
    pub fn alone(tree: Arc<dyn Code>) -> Self {
        Self { tree, stop: Stop::default(), progress: Progress::unheard() }
    }

    /// The same, telling of its progress.
    pub(super) fn telling(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    pub(super) fn tree(&self) -> &dyn Code {
        &*self.tree
    }

    /// Whether nobody waits for it any more.
    pub fn is_stopped(&self) -> bool {
        self.stop.flag().load(Ordering::Relaxed)
    }

    /// What says so.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Tells how far it is.
    pub fn tell(&self, done: u64, total: Option<u64>, message: &str) {
        self.progress.tell(done, total, message);
    }
}

/// Runs work on a tree, so much at once.
pub(super) struct Workers {
    tree: Arc<Opener>,
    room: Arc<Semaphore>,
}

impl Workers {
    pub(super) fn new(tree: Arc<Opener>) -> Self {
        // Some wait for the disk while others compute.
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { tree, room: Arc::new(Semaphore::new(2 * cores + 2)) }
    }

    /// Runs work. Dropping the future stops it.
    pub(super) async fn run(
        &self,
        job: impl FnOnce(TreeWork) -> ToolOutcome + Send + 'static,
    ) -> ToolOutcome {
        let Ok(room) = self.room.clone().acquire_owned().await else {
            return ToolOutcome::Failed("the server is shutting down".to_owned());
        };
        let (tree, stop) = (self.tree.clone(), Stop::default());
        let guard = StopOnDrop(stop.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _room = room;
            match tree.tree() {
                Ok(tree) => job(TreeWork { tree, stop, progress: Progress::unheard() }),
                Err(why) => why.into(),
            }
        });
        let outcome = done.await.unwrap_or_else(|_| ToolOutcome::Failed("it ended unexpectedly".to_owned()));
        drop(guard);
        outcome
    }
}
