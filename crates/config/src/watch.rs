//! Telling when configuration files may have changed.
//!
//! The folders along the path of each file are watched, not the files themselves: a file that does not exist yet, is replaced by a
//! rename, or is behind links is noticed like any other. After each event the path is walked again, because it may lead elsewhere now;
//! only then is the caller notified, so no change between two walks is lost.

mod watcher;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::task::TaskTracker;

use watcher::FileWatcher;

/// Files are read when they did not change for this long: editors write in several steps.
const QUIET: Duration = Duration::from_millis(500);
/// But no later than this after the first sign.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Says when one of some files may have changed. Dropping it ends the watching.
#[derive(Debug)]
pub struct ConfigWatch {
    changes: watch::Receiver<u64>,
    method: watch::Receiver<WatchMethod>,
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMethod {
    /// The system reports them.
    Reported,
    /// The files are looked at every second, because the system will not report them.
    Polled {
        /// Why not, and what to do about it.
        reason: Arc<str>,
    },
}

impl ConfigWatch {
    /// Resolves when a file may have changed since the last time: read the files again then. However many changes there were,
    /// that is one time. Cancel-safe.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The task ended with its runtime: nothing will be reported any more.
            std::future::pending::<()>().await;
        }
    }

    /// How changes are noticed now.
    pub fn method(&self) -> WatchMethod {
        self.method.borrow().clone()
    }
}

/// Watches files, whether they exist or not. Changes after the return are noticed, so read them first *after* that.
///
/// # Panics
///
/// Outside a tokio runtime.
pub fn watch_files(paths: &[PathBuf], tasks: &TaskTracker) -> ConfigWatch {
    let event = Arc::new(Notify::new());
    start(FileWatcher::open(paths, Arc::clone(&event)), event, tasks)
}

fn start(watcher: FileWatcher, event: Arc<Notify>, tasks: &TaskTracker) -> ConfigWatch {
    let (changed, changes) = watch::channel(0);
    let (method_sender, method) = watch::channel(watcher.method());
    tasks.spawn(run(watcher, event, changed, method_sender, tasks.clone()));
    ConfigWatch { changes, method }
}

/// Ends when the watch was dropped. Files are checked on blocking threads: a network file system may never respond.
async fn run(
    mut watcher: FileWatcher,
    event: Arc<Notify>,
    changed: watch::Sender<u64>,
    method: watch::Sender<WatchMethod>,
    tasks: TaskTracker,
) {
    loop {
        let is_sure = tokio::select! {
            () = changed.closed() => return,
            () = event.notified() => true,
            () = sleep(watcher.poll_interval()) => false,
        };
        if !is_sure {
            let looked = tasks.spawn_blocking(move || (watcher.has_changed(), watcher));
            let Ok((is_changed, back)) = looked.await else { return };
            watcher = back;
            if !is_changed {
                continue;
            }
        }
        tokio::select! {
            () = changed.closed() => return,
            () = settled(&event) => {}
        }
        let walked = tasks.spawn_blocking(move || {
            watcher.walk_again();
            watcher
        });
        let Ok(back) = walked.await else { return };
        watcher = back;
        method.send_if_modified(|method| {
            let now = watcher.method();
            let differs = *method != now;
            *method = now;
            differs
        });
        changed.send_modify(|count| *count += 1);
    }
}

/// Waits until there are no more events, up to a limit.
async fn settled(event: &Notify) {
    let first = Instant::now();
    let mut quiet_at = first + QUIET;
    while quiet_at < first + MAX_DELAY {
        tokio::select! {
            () = sleep_until(quiet_at) => return,
            () = event.notified() => quiet_at = Instant::now() + QUIET,
        }
    }
    sleep_until(first + MAX_DELAY).await;
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::ErrorKind;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn without_notifications_files_are_polled_and_the_reason_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("toolbay.toml");
        let tasks = TaskTracker::new();
        let limit = Err(notify::Error::new(ErrorKind::MaxFilesWatch));
        let watcher = FileWatcher::with(std::slice::from_ref(&file), Arc::default(), limit);
        let mut watch = start(watcher, Arc::default(), &tasks);
        let WatchMethod::Polled { reason } = watch.method() else { panic!("{:?}", watch.method()) };
        assert!(reason.contains("max_user_watches"), "{reason}");

        for step in 0..3 {
            match step {
                0 | 1 => fs::write(&file, step.to_string()).unwrap(),
                _ => fs::remove_file(&file).unwrap(),
            }
            timeout(Duration::from_secs(10), watch.changed()).await.expect("a poll sees it");
        }
        drop(watch);
        tasks.close();
        timeout(Duration::from_secs(5), tasks.wait()).await.expect("nobody listens, so the task ends");
    }
}
