//! The shim's view: everything below this process.

use std::collections::HashSet;

use rustix::process::{Pid, Signal, getpgrp, getpid, kill_process_group};

use crate::procfs::{self, ProcessEntry};

/// Sends `signal` to every descendant that one scan finds.
pub(crate) fn signal_descendants(signal: Signal) {
    for entry in descendants(getpid(), procfs::all()) {
        procfs::signal(&entry, signal);
        if signal == Signal::TERM {
            // A stopped process would not see it.
            procfs::signal(&entry, Signal::CONT);
        }
    }
}

/// Kills every descendant that one scan finds, and their process groups: a group is killed as a whole, so that one
/// which forks faster than we scan cannot run away.
///
/// Invariant: called by a session leader alone. A process group never leaves its session, so all members of a
/// descendant's group are descendants, or ours, which is left out.
pub(crate) fn kill_descendants() {
    let found = descendants(getpid(), procfs::all());
    let groups: HashSet<Pid> = found.iter().filter_map(|entry| entry.group).collect();
    for group in groups {
        if group != getpgrp() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    for entry in found {
        procfs::signal(&entry, Signal::KILL);
    }
}

/// Those of `all` that have `root` among their ancestors.
fn descendants(root: Pid, mut all: Vec<ProcessEntry>) -> Vec<ProcessEntry> {
    let mut known = HashSet::from([root]);
    let mut found = Vec::new();
    loop {
        let before = found.len();
        all.retain(|entry| {
            let below = entry.parent.is_some_and(|parent| known.contains(&parent));
            if below {
                known.insert(entry.pid);
                found.push(*entry);
            }
            !below
        });
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_in_any_order() {
        let pid = |number| Pid::from_raw(number);
        // (process, parent): 9 is below 4, which is below 1; 5 is not.
        let all = [(9, 4), (5, 2), (4, 1), (2, 3), (3, 3), (6, 9)];
        let all = all.map(|(process, parent)| ProcessEntry {
            pid: pid(process).unwrap(),
            parent: pid(parent),
            group: None,
            session: None,
            start: 0,
            zombie: false,
        });
        let found = descendants(pid(1).unwrap(), all.to_vec());
        let mut found: Vec<i32> = found.iter().map(|entry| entry.pid.as_raw_nonzero().get()).collect();
        found.sort_unstable();
        assert_eq!(found, [4, 6, 9]);
    }
}
