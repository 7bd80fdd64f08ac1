//! Telling when configuration files may have changed.
//!
//! The system reports what happens in folders, so the folders along the way to each file are watched, not the files: one
//! that is not there yet, is replaced by a rename, or stands behind links is noticed like any other. After each
//! report the way is walked again, because it may lead elsewhere now; only then is the caller told, so nothing that
//! happens between two looks is lost.

mod watcher;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::task::TaskTracker;

use watcher::FileWatcher;

/// Files are looked at when nothing has happened to them for so long: editors write in several steps.
const QUIET: Duration = Duration::from_millis(500);
/// But no later than this after the first sign.
const LONGEST: Duration = Duration::from_secs(2);

/// Says when one of some files may have changed. Dropping it ends the watching.
#[derive(Debug)]
pub struct ConfigWatch {
    changes: watch::Receiver<u64>,
    way: watch::Receiver<WatchMethod>,
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
    /// Resolves when something may have changed since the last time: read the files again then. However much happened,
    /// that is one time. Cancel-safe.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The task ended with its runtime: nothing will be reported any more.
            std::future::pending::<()>().await;
        }
    }

    /// How changes are noticed now.
    pub fn way(&self) -> WatchMethod {
        self.way.borrow().clone()
    }
}

/// Watches files, whether they exist or not. Changes after the return are noticed, so read them first *after* that.
///
/// # Panics
///
/// Outside a tokio runtime.
pub fn watch_files(paths: &[PathBuf], tasks: &TaskTracker) -> ConfigWatch {
    let poke = Arc::new(Notify::new());
    start(FileWatcher::open(paths, Arc::clone(&poke)), poke, tasks)
}

fn start(eyes: FileWatcher, poke: Arc<Notify>, tasks: &TaskTracker) -> ConfigWatch {
    let (changed, changes) = watch::channel(0);
    let (way_now, way) = watch::channel(eyes.way());
    tasks.spawn(run(eyes, poke, changed, way_now, tasks.clone()));
    ConfigWatch { changes, way }
}

/// Ends when nobody listens any more. Files are looked at on threads for that: a network file system may never answer.
async fn run(
    mut eyes: FileWatcher,
    poke: Arc<Notify>,
    changed: watch::Sender<u64>,
    way: watch::Sender<WatchMethod>,
    tasks: TaskTracker,
) {
    loop {
        let is_sure = tokio::select! {
            () = changed.closed() => return,
            () = poke.notified() => true,
            () = sleep(eyes.next_look()) => false,
        };
        if !is_sure {
            let looked = tasks.spawn_blocking(move || (eyes.see_a_change(), eyes));
            let Ok((is_changed, back)) = looked.await else { return };
            eyes = back;
            if !is_changed {
                continue;
            }
        }
        tokio::select! {
            () = changed.closed() => return,
            () = settled(&poke) => {}
        }
        let walked = tasks.spawn_blocking(move || {
            eyes.walk_again();
            eyes
        });
        let Ok(back) = walked.await else { return };
        eyes = back;
        way.send_if_modified(|way| {
            let now = eyes.way();
            let differs = *way != now;
            *way = now;
            differs
        });
        changed.send_modify(|count| *count += 1);
    }
}

/// Waits until nothing more happens, within reason.
async fn settled(poke: &Notify) {
    let first = Instant::now();
    let mut quiet_at = first + QUIET;
    while quiet_at < first + LONGEST {
        tokio::select! {
            () = sleep_until(quiet_at) => return,
            () = poke.notified() => quiet_at = Instant::now() + QUIET,
        }
    }
    sleep_until(first + LONGEST).await;
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
        let eyes = FileWatcher::with(std::slice::from_ref(&file), Arc::default(), limit);
        let mut watch = start(eyes, Arc::default(), &tasks);
        let WatchMethod::Polled { reason } = watch.way() else { panic!("{:?}", watch.way()) };
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
