//! What a start waits for: its turn among other servers, and a `PATH` that is not known yet.

use std::{ffi::OsString, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Lets servers start one at a time. Clones share it.
///
/// Starting a process blocks the thread for about a millisecond. Thirty in a row would block all other work for
/// that long; with the gate, other tasks run in between.
#[derive(Debug, Clone)]
pub struct StartGate(Arc<Semaphore>);

impl Default for StartGate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl StartGate {
    /// Waits for the permit to start, which is held until it is dropped.
    pub(crate) async fn taken(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        let turn = self.0.clone().acquire_owned().await.ok();
        tokio::task::yield_now().await;
        turn
    }
}

/// A `PATH` that is being determined. Servers that look for their programs in it are started once it is
/// known, or its sender is dropped.
#[derive(Debug, Clone)]
pub struct PendingPath(watch::Receiver<Option<OsString>>);

/// Sends the `PATH`. When it is dropped without, servers use the `PATH` that they have.
#[derive(Debug)]
pub struct PathSender(watch::Sender<Option<OsString>>);

impl PendingPath {
    /// Creates a pending `PATH` and its sender.
    pub fn new() -> (PathSender, Self) {
        let (sender, receiver) = watch::channel(None);
        (PathSender(sender), Self(receiver))
    }

    /// Returns the `PATH` once it is known; nothing if it never will be.
    pub(crate) async fn known(mut self) -> Option<OsString> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl PathSender {
    /// Sends the `PATH`.
    pub fn send(self, path: OsString) {
        // Having no receiver is fine: later servers read the value.
        self.0.send_replace(Some(path));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Other tasks run between two starts.
    #[tokio::test]
    async fn other_tasks_run_between_two_starts() {
        let (turn, log) = (StartGate::default(), Arc::new(Mutex::new(String::new())));
        let say = |word: char, log: &Mutex<String>| log.lock().unwrap().push(word);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let (turn, log) = (turn.clone(), log.clone());
            tasks.spawn(async move {
                let _turn = turn.taken().await;
                say('s', &log);
            });
        }
        let other = log.clone();
        tasks.spawn(async move {
            for _ in 0..16 {
                say('.', &other);
                tokio::task::yield_now().await;
            }
        });
        tasks.join_all().await;
        let log = log.lock().unwrap();
        assert_eq!(log.matches('s').count(), 6);
        // At most one in each round of the runtime; whether it comes first or last there is left to chance.
        assert!(!log.contains("sss"), "several in one round: {log}");
    }
}
