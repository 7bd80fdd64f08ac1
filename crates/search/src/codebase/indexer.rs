//! Keeps the indexes of a tree up to date while it is in use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use super::Codebase;
use crate::tree::FileEntry;

/// How often a watched tree is looked at: searches see changes in any case, this only keeps them quick.
const WATCHED: Duration = Duration::from_secs(1);
/// How often a tree is looked at that has to be walked for it.
const UNWATCHED: Duration = Duration::from_secs(60);
/// When something failed: a full disk does not get emptier within a second.
const FAILED: Duration = Duration::from_secs(30);

/// The priority of the thread and of those that it starts: as `nice` counts, 0 is usual and 19 the lowest.
#[cfg(target_os = "linux")]
const LOW: i32 = 10;

/// The thread; it ends with this.
#[derive(Debug)]
pub(super) struct Indexer {
    stop: Arc<AtomicBool>,
    _lives: mpsc::Sender<()>,
}

impl Indexer {
    pub(super) fn start(codebase: &Arc<Codebase>) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (lives, ended) = mpsc::channel();
        let (codebase, stopped) = (Arc::downgrade(codebase), stop.clone());
        let thread = thread::Builder::new().name("index".to_owned());
        // Without a thread searches are slower, no more.
        drop(thread.spawn(move || {
            step_back();
            keep(&codebase, &stopped, &ended);
        }));
        Self { stop, _lives: lives }
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Lowers the priority of the thread below searches and other programs. Elsewhere than on Linux a
/// priority is that of the whole process.
fn step_back() {
    #[cfg(target_os = "linux")]
    if rustix::process::getpriority_process(None).is_ok_and(|now| now < LOW) {
        // Refused, searches are only slower.
        let _ = rustix::process::setpriority_process(None, LOW);
    }
}

fn keep(codebase: &Weak<Codebase>, stop: &AtomicBool, ended: &mpsc::Receiver<()>) {
    let mut known: Option<Arc<[FileEntry]>> = None;
    loop {
        let Some(codebase) = codebase.upgrade() else { return };
        let pause = look(&codebase, &mut known, stop);
        drop(codebase);
        match ended.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// Indexes what has changed, and returns when to look again.
fn look(codebase: &Codebase, known: &mut Option<Arc<[FileEntry]>>, stop: &AtomicBool) -> Duration {
    let Ok(files) = codebase.tree.files() else { return FAILED };
    if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, &files)) {
        return WATCHED;
    }
    match codebase.index(&|_| (), stop) {
        Ok(summary) => {
            let is_done = summary.young == 0 && !summary.busy && !summary.stopped;
            // A tree that has to be walked gives another list each time.
            let again = || codebase.tree.files().ok();
            let is_watched = again().zip(again()).is_some_and(|(one, other)| Arc::ptr_eq(&one, &other));
            *known = is_done.then_some(files);
            if is_watched || !is_done { WATCHED } else { UNWATCHED }
        }
        Err(error) => {
            codebase.note(Some(format!("the index is not up to date: {}", chain(&error))));
            FAILED
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
