//! Watching files by notifications or by polling.

use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::WatchMethod;

/// How often files are looked at when the system will not report changes.
const POLL: Duration = Duration::from_secs(1);
/// How often they are checked in addition to notifications: network file systems do not report changes by other machines, and moved
/// folders far above are not reported either.
const EXTRA_POLL: Duration = Duration::from_secs(30);
/// How often the path is walked again if it changes meanwhile.
const MAX_WALKS: usize = 8;

/// Too many open files, on the machine or in the process: the errors for too many instances of inotify.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// The names that matter; shared with the thread that gets the reports.
type Names = Arc<Mutex<BTreeSet<PathBuf>>>;

pub(super) struct FileWatcher {
    paths: Vec<PathBuf>,
    stamps: Vec<Option<Stamp>>,
    names: Names,
    notice: Notice,
}

enum Notice {
    Reported { watcher: RecommendedWatcher, watched: BTreeSet<PathBuf> },
    Polled { reason: Arc<str> },
}

/// The metadata that changes with a file.
#[derive(PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileWatcher {
    /// Opens a watcher that notifies `event` of changes.
    pub(super) fn open(paths: &[PathBuf], event: Arc<Notify>) -> Self {
        let names = Names::default();
        let watcher = notify::recommended_watcher(reporter(Arc::clone(&names), event));
        Self::with(paths, names, watcher)
    }

    pub(super) fn with(paths: &[PathBuf], names: Names, watcher: notify::Result<RecommendedWatcher>) -> Self {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let notice = match watcher {
            Ok(watcher) => Notice::Reported { watcher, watched: BTreeSet::new() },
            Err(error) => Notice::Polled { reason: reason(&error) },
        };
        let mut this =
            Self { paths: paths.iter().map(absolute).collect(), stamps: Vec::new(), names, notice };
        this.walk_again();
        this
    }

    pub(super) fn method(&self) -> WatchMethod {
        match &self.notice {
            Notice::Reported { .. } => WatchMethod::Reported,
            Notice::Polled { reason } => WatchMethod::Polled { reason: Arc::clone(reason) },
        }
    }

    /// How long to wait for reports before looking by hand.
    pub(super) fn poll_interval(&self) -> Duration {
        match self.notice {
            Notice::Reported { .. } => EXTRA_POLL,
            Notice::Polled { .. } => POLL,
        }
    }

    /// Whether a file has changed since the last walk.
    pub(super) fn has_changed(&self) -> bool {
        self.stamps != stamps(&self.paths)
    }

    /// Watches the folders of the current paths. Every change after this is noticed.
    pub(super) fn walk_again(&mut self) {
        if let Notice::Reported { watcher, watched } = &mut self.notice
            && let Err(error) = watch_trail(&self.paths, &self.names, watcher, watched)
        {
            self.notice = Notice::Polled { reason: reason(&error) };
        }
        self.stamps = stamps(&self.paths);
    }
}

/// Watches folders again even if they were watched: a folder of the same name may be another one.
fn watch_trail(
    paths: &[PathBuf],
    names: &Names,
    watcher: &mut RecommendedWatcher,
    watched: &mut BTreeSet<PathBuf>,
) -> notify::Result<()> {
    let mut trail = WatchedPaths::to(paths);
    for _ in 0..MAX_WALKS {
        for folder in std::mem::take(watched) {
            // It may have been removed, and its watch with it.
            drop(watcher.unwatch(&folder));
        }
        names.lock().clone_from(&trail.names);
        for folder in trail.folders.iter().chain(&trail.above) {
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    watched.insert(folder.clone());
                }
                Err(error) if is_missing(&error) => {}
                Err(_) if !trail.folders.contains(folder) => {}
                Err(error) => return Err(error),
            }
        }
        let now = WatchedPaths::to(paths);
        if now == trail {
            break;
        }
        trail = now;
    }
    Ok(())
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

fn reason(error: &notify::Error) -> Arc<str> {
    let is_limit = match &error.kind {
        ErrorKind::MaxFilesWatch => true,
        ErrorKind::Io(error) => matches!(error.raw_os_error(), Some(ENFILE | EMFILE)),
        _ => false,
    };
    match is_limit {
        true => "the limit for watches is reached (raise fs.inotify.max_user_watches or max_user_instances)"
            .into(),
        false => format!("watching is not possible here: {error}").into(),
    }
}

fn reporter(names: Names, event: Arc<Notify>) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    move |report| {
        let matters = match report {
            // Reports were lost.
            Err(_) => true,
            Ok(change) if change.need_rescan() => true,
            Ok(change) => {
                let names = names.lock();
                is_change(change.kind) && change.paths.iter().any(|path| names.contains(path))
            }
        };
        if matters {
            event.notify_one();
        }
    }
}

/// Reading is none; else our own would be reported.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn stamps(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    paths.iter().map(|path| stamp(path)).collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        file: (metadata.dev(), metadata.ino()),
        size: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// As many links as the system itself follows.
const MAX_LINKS: usize = 40;

/// The folders in which a change may affect some files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchedPaths {
    /// Folders to watch.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Folders to watch if permitted: those above, whose events show that one of the others was replaced.
    pub(super) above: BTreeSet<PathBuf>,
    /// Names in those folders, and the folders themselves.
    pub(super) names: BTreeSet<PathBuf>,
}

impl WatchedPaths {
    /// Walks the current paths of these files, which are absolute.
    pub(super) fn to(paths: &[PathBuf]) -> Self {
        let mut trail = Self::default();
        paths.iter().for_each(|path| trail.follow(path));
        trail.names.extend(trail.folders.iter().chain(&trail.above).cloned().collect::<Vec<_>>());
        trail
    }

    fn follow(&mut self, path: &Path) {
        let mut rest: VecDeque<OsString> = steps(path);
        // Invariant: free of links.
        let mut here = PathBuf::from("/");
        let mut links = 0;
        let mut passed: Vec<PathBuf> = Vec::new();
        while let Some(step) = rest.pop_front() {
            if step == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&step);
            self.names.insert(next.clone());
            passed.push(here.clone());
            match fs::symlink_metadata(&next) {
                Ok(metadata) if metadata.is_symlink() && links < MAX_LINKS => {
                    links += 1;
                    self.folders.insert(here.clone());
                    let Ok(target) = fs::read_link(&next) else { break };
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    for step in steps(&target).into_iter().rev() {
                        rest.push_front(step);
                    }
                }
                Ok(metadata) if metadata.is_dir() => here = next,
                // The file, or where the path ends.
                _ => break,
            }
        }
        self.folders.extend(passed.pop());
        self.above.extend(passed.pop());
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}
