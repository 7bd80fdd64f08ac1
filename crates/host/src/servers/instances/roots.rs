//! Servers that are bound to a folder: one instance per project of a client.
//!
//! The catalog of such a server is that of its first instance: it is the same in every folder. A call goes to the instance of
//! its caller's project, which is made with the first call and shared by all clients of that project.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use toolbay_upstream::ServerHandle;

/// How many projects have an instance at once; when there are more, the one that was unused longest ends.
const MAX_ROOTS: usize = 32;
/// How long an unused instance is kept.
const IDLE: Duration = Duration::from_secs(300);

/// Starts the instance of a project; none where the server is not bound to folders, or not to be used in that one.
pub(crate) type StartInRoot = Arc<dyn Fn(&Path) -> Option<ServerHandle> + Send + Sync>;

/// The instances of one server, by project.
pub(crate) struct RootInstances {
    start: StartInRoot,
    all: Mutex<Vec<RootInstance>>,
}

struct RootInstance {
    root: PathBuf,
    handle: ServerHandle,
    used: Instant,
}

impl RootInstances {
    pub(crate) fn new(start: StartInRoot) -> Self {
        Self { start, all: Mutex::default() }
    }

    /// The instance of a project, if the server has one there.
    pub(crate) fn instance(&self, root: &Path) -> Option<ServerHandle> {
        let mut all = self.all.lock();
        if let Some(known) = all.iter_mut().find(|known| known.root == root) {
            known.used = Instant::now();
            return Some(known.handle.clone());
        }
        let handle = (self.start)(root)?;
        if all.len() >= MAX_ROOTS {
            let oldest =
                (0..all.len()).filter(|index| all[*index].is_unused()).min_by_key(|index| all[*index].used);
            all.swap_remove(oldest.unwrap_or_default());
        }
        all.push(RootInstance { root: root.to_owned(), handle: handle.clone(), used: Instant::now() });
        Some(handle)
    }

    /// Ends instances that are unused for too long; dropping the handle stops them.
    pub(crate) fn sweep(&self) {
        self.all.lock().retain(|known| !known.is_unused() || known.used.elapsed() < IDLE);
    }

    /// Stops all of them.
    pub(crate) fn stop(&self) {
        for known in self.all.lock().drain(..) {
            known.handle.stop();
        }
    }
}

impl RootInstance {
    fn is_unused(&self) -> bool {
        let counts = self.handle.counts();
        counts.in_flight == 0 && counts.waiting == 0
    }
}
