//! What a handler knows about its call, and where it runs.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tokio::sync::Semaphore;

use crate::{ClientRoot, Progress, ToolError};

/// What a handler knows about its call, besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    progress: Progress,
    roots: Option<Arc<[ClientRoot]>>,
    cancelled: Arc<AtomicBool>,
}

impl ToolContext {
    pub(crate) fn new(progress: Progress, roots: Option<Arc<[ClientRoot]>>) -> Self {
        Self { progress, roots, cancelled: Arc::default() }
    }

    /// Whether the call was cancelled. Handlers that block look at it; a future is dropped.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the flag behind [`is_cancelled`](Self::is_cancelled), for code that knows no tools.
    pub fn cancelled(&self) -> &AtomicBool {
        &self.cancelled
    }

    /// Reports progress, if the client wants it. `done` must grow from call to call.
    pub fn report_progress(&self, done: u64, total: Option<u64>, message: &str) {
        self.progress.report(done, total, message);
    }

    /// Returns the roots of the client. Nothing if the server [does not want them](crate::ToolServer::with_roots), if the
    /// client has no session or no roots, or if it did not return them in time.
    pub fn roots(&self) -> Option<&[ClientRoot]> {
        self.roots.as_deref()
    }
}

/// Threads for work that blocks, a bounded number of them at once.
#[derive(Debug, Clone)]
pub struct BlockingThreads {
    free: Arc<Semaphore>,
}

impl BlockingThreads {
    pub(crate) fn new() -> Self {
        // Some wait for the disk while others compute.
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { free: Arc::new(Semaphore::new(2 * cores + 2)) }
    }

    /// Runs `work` on a thread. Dropping the future cancels the context.
    ///
    /// # Errors
    /// If `work` panics.
    pub async fn run<R: Send + 'static>(
        &self,
        context: ToolContext,
        work: impl FnOnce(&ToolContext) -> R + Send + 'static,
    ) -> Result<R, ToolError> {
        let Ok(permit) = self.free.clone().acquire_owned().await else {
            return Err(ToolError::failed("the server is shutting down"));
        };
        let _cancel = CancelOnDrop(context.cancelled.clone());
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&context)
        });
        running.await.map_err(|_| ToolError::failed("it ended unexpectedly"))
    }
}

struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
