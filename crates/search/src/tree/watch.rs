//! [`Watch`]: folders watched by the kernel (inotify).
//!
//! The kernel queues an event before the call that caused it returns. So a reader that empties the queue knows every change made
//! before, without waiting for anything.

use std::collections::{HashMap, HashSet};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::RelPath;

/// Files with ignore rules.
const RULES: [&[u8]; 3] = [b".gitignore", b".ignore", b".rgignore"];

/// More changed names than this are not worth looking at one by one.
const MANY: usize = 4_000;

/// What has happened since the last look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// These names in these folders: made, removed, renamed or written to.
    Names(HashMap<RelPath, HashSet<Box<[u8]>>>),
    /// Too much, or something that changes which files count.
    Everything,
}

/// Watches folders of one tree.
#[derive(Debug)]
pub(super) struct Watch {
    queue: OwnedFd,
    base: PathBuf,
    state: Mutex<WatchState>,
}

#[derive(Debug, Default)]
struct WatchState {
    folders: HashMap<i32, RelPath>,
    /// Why the watch cannot be relied on: there were more folders than the system lets us watch.
    failed: Option<Errno>,
}

impl Watch {
    pub(super) fn new(base: PathBuf) -> io::Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        Ok(Self { queue, base, state: Mutex::default() })
    }

    /// Watches a folder, from before anyone reads it.
    pub(super) fn add(&self, folder: &RelPath) {
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        let watched = inotify::add_watch(&self.queue, self.base.join(folder.as_path()), flags);
        let mut state = self.state.lock();
        match watched {
            Ok(number) => drop(state.folders.insert(number, folder.clone())),
            // Gone again, or not ours to read: the walk does not enter it either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
            Err(errno) => state.failed = Some(errno),
        }
    }

    /// The folders that are watched.
    pub(super) fn folders(&self) -> HashSet<RelPath> {
        self.state.lock().folders.values().cloned().collect()
    }

    /// Whether some folder could not be watched, so that only a walk detects changes.
    pub(super) fn has_failed(&self) -> bool {
        self.state.lock().failed.is_some()
    }

    /// Empties the queue.
    pub(super) fn changes(&self) -> Changes {
        let mut names: HashMap<RelPath, HashSet<Box<[u8]>>> = HashMap::new();
        let mut count = 0;
        let mut everything = false;
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut reader = Reader::new(&self.queue, &mut buffer);
        let mut state = self.state.lock();
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    state.failed = Some(errno);
                    everything = true;
                    break;
                }
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                everything = true;
            }
            if flags.contains(ReadFlags::IGNORED) {
                state.folders.remove(&event.wd());
                continue;
            }
            let Some(folder) = state.folders.get(&event.wd()) else { continue };
            let name = event.file_name().map(|name| name.to_bytes());
            match name {
                // The folder itself: an event of its parent, but the parent of the root is not watched.
                None | Some(b"") => everything |= folder.is_root() && flags.intersects(gone()),
                Some(name) if RULES.contains(&name) || name == b".git" => everything = true,
                Some(name) => {
                    count += usize::from(names.entry(folder.clone()).or_default().insert(name.into()));
                    everything |= count > MANY;
                }
            }
            if everything {
                names.clear();
            }
        }
        if everything { Changes::Everything } else { Changes::Names(names) }
    }
}

fn gone() -> ReadFlags {
    ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT
}
