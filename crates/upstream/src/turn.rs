//! Servers that are started one after the other.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose turn it is to be started. Clones share it.
///
/// Starting a process holds up the thread for about a millisecond. Thirty in a row would hold up everybody else for
/// that long; in turns, whoever has something to do gets a word in between two of them.
#[derive(Debug, Clone)]
pub struct Turn(Arc<Semaphore>);

impl Default for Turn {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Turn {
    /// Waits for one's turn, which ends when what this gives is dropped.
    pub(crate) async fn taken(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        let turn = self.0.clone().acquire_owned().await.ok();
        tokio::task::yield_now().await;
        turn
    }
}
