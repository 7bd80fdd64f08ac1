//! The host's view: what a server left behind when no shim can tell.
//!
//! A killed shim leaves orphans that belong to us (if we are a subreaper) or to init. They are known by the session
//! the shim had made, by a marker in their environment, and by descent from such a process. A process that clears all three
//! (its own session, a cleaned environment, a dead parent) escapes; while the shim runs, even that does not help.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, WaitOptions, getpid, waitpid};

use crate::procfs::{self, ProcessEntry};

/// The variable that marks a server and all it starts. Not `TOOLBAY_…`: those stay in the host.
pub const MARKER: &str = "SUPERVISED_LAUNCH";

/// Time to end after SIGTERM for what outlives its server.
pub(crate) const ORPHAN_GRACE: Duration = Duration::from_millis(100);

/// SIGKILL takes effect at once, except in a system call that cannot be interrupted, or against another user's process.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Finds and ends the processes of one launch. Blocking.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// `NAME=value`, as `/proc/<pid>/environ` shows it.
    marker: Vec<u8>,
    /// The process that the host started: reaped by its watcher, never here.
    root: Pid,
    /// Shared by all clones: what one of them kills, another one reaps.
    known: Arc<Mutex<KnownProcesses>>,
}

/// What was found of a tree.
#[derive(Debug, Default)]
struct KnownProcesses {
    groups: HashSet<Pid>,
    sessions: HashSet<Pid>,
    /// All we have ever seen, with their start times: a zombie has no environment any more.
    seen: HashMap<Pid, u64>,
}

impl Sweep {
    /// For a `root` that leads a process group or, as a shim does, a session.
    pub(crate) fn new(launch: &str, root: Pid) -> Self {
        Self {
            marker: format!("{MARKER}={launch}").into_bytes(),
            root,
            known: Arc::new(Mutex::new(KnownProcesses {
                groups: HashSet::from([root]),
                sessions: HashSet::from([root]),
                seen: HashMap::new(),
            })),
        }
    }

    /// Kills until nothing is left. Returns what withstands.
    pub(crate) fn kill(self) -> Vec<Pid> {
        self.until_gone(Signal::KILL, KILL_TIMEOUT)
    }

    /// As `kill`, but asks first.
    pub(crate) fn end(self) -> Vec<Pid> {
        if self.signal(Signal::TERM).is_empty() {
            return Vec::new();
        }
        let still = Instant::now() + ORPHAN_GRACE;
        while Instant::now() < still {
            if self.find().is_empty() {
                return Vec::new();
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill()
    }

    /// Sends `signal` once to all there are, and returns them.
    pub(crate) fn signal(&self, signal: Signal) -> Vec<Pid> {
        let found = self.find();
        for entry in &found {
            procfs::signal(entry, signal);
            if signal == Signal::TERM {
                procfs::signal(entry, Signal::CONT);
            }
        }
        found.iter().map(|entry| entry.pid).collect()
    }

    fn until_gone(&self, signal: Signal, limit: Duration) -> Vec<Pid> {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
        loop {
            let left = self.signal(signal);
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// What is left: all that run, and zombies that are still ours to reap. Those that can be are reaped on the way.
    fn find(&self) -> Vec<ProcessEntry> {
        let own = getpid();
        let mut strangers = procfs::all();
        strangers.retain(|entry| entry.pid != own);
        let mut found = Vec::new();
        let mut known = self.known.lock();
        loop {
            let before = found.len();
            strangers.retain(|entry| {
                let ours = self.owns(&known, entry);
                if ours {
                    known.remember(entry);
                    found.push(*entry);
                }
                !ours
            });
            if found.len() == before {
                break;
            }
        }
        found.retain(|entry| !entry.zombie || self.is_to_reap(&known, entry));
        found
    }

    /// Whether a zombie needs another look: one whose other threads are still ending cannot be reaped yet, and one
    /// whose parent is ending will fall to us. The rest are reaped here, or their parents' business.
    fn is_to_reap(&self, known: &KnownProcesses, zombie: &ProcessEntry) -> bool {
        if zombie.pid == self.root {
            return false;
        }
        if zombie.parent != Some(getpid()) {
            return zombie.parent.is_some_and(|parent| known.seen.contains_key(&parent));
        }
        // An error means that it was reaped already.
        matches!(waitpid(Some(zombie.pid), WaitOptions::NOHANG), Ok(None))
    }

    fn owns(&self, known: &KnownProcesses, entry: &ProcessEntry) -> bool {
        let is_in = |set: &HashSet<Pid>, id: Option<Pid>| id.is_some_and(|id| set.contains(&id));
        entry.pid == self.root
            || known.seen.get(&entry.pid) == Some(&entry.start)
            || (entry.parent).is_some_and(|parent| known.seen.contains_key(&parent))
            || is_in(&known.sessions, entry.session)
            || is_in(&known.groups, entry.group)
            || procfs::has_variable(entry.pid, &self.marker)
    }
}

impl KnownProcesses {
    fn remember(&mut self, entry: &ProcessEntry) {
        self.seen.insert(entry.pid, entry.start);
        // A group or session that one of them leads holds none but them.
        if entry.session == Some(entry.pid) {
            self.sessions.insert(entry.pid);
        }
        if entry.group == Some(entry.pid) {
            self.groups.insert(entry.pid);
        }
    }
}
