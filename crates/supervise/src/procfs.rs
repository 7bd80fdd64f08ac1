//! Reading `/proc`: the only place where one can see which process descends from which.
//!
//! `/proc/<pid>/task/*/children` would be shorter, but not every kernel is built with it.

use std::{ffi::OsStr, fs, str};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process as a scan saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessEntry {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Option<Pid>,
    pub(crate) session: Option<Pid>,
    /// With the pid, tells a process from a later one of the same number.
    pub(crate) start: u64,
    pub(crate) zombie: bool,
}

/// Every process we may see.
pub(crate) fn all() -> Vec<ProcessEntry> {
    let Ok(directory) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    directory.filter_map(|entry| read(number(&entry.ok()?.file_name())?)).collect()
}

pub(crate) fn read(pid: Pid) -> Option<ProcessEntry> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &stat)
}

/// Whether the process was started with exactly this `NAME=value`. Not known for a zombie, nor for other users'.
pub(crate) fn has_variable(pid: Pid, variable: &[u8]) -> bool {
    let environ = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environ.is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|one| one == variable))
}

/// Sends `signal` to the very process that the scan saw, never to a later one with its number.
pub(crate) fn signal(entry: &ProcessEntry, signal: Signal) {
    let pidfd = pidfd_open(entry.pid, PidfdFlags::empty());
    // Only now, as the descriptor pins the process, is the number known to be still his.
    if read(entry.pid).is_none_or(|now| now.start != entry.start) {
        return;
    }
    // An error means that it is gone, or not ours to kill: the next scan will show.
    let _ = match pidfd {
        Ok(pidfd) => pidfd_send_signal(pidfd, signal),
        // Old kernels, sandboxes, and hosts out of descriptors.
        Err(_) => kill_process(entry.pid, signal),
    };
}

fn parse(pid: Pid, stat: &[u8]) -> Option<ProcessEntry> {
    // The name stands in parentheses and may itself contain some.
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    let mut id = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
    let (parent, group, session) = (id()?, id()?, id()?);
    Some(ProcessEntry { pid, parent, group, session, start: fields.nth(15)?.parse().ok()?, zombie })
}

fn number(name: &OsStr) -> Option<Pid> {
    Pid::from_raw(name.to_str()?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name_of_the_program() {
        let stat = b"7 (a) Z (b) S 3 5 4 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 7777 9 10";
        let entry = parse(Pid::from_raw(7).unwrap(), stat).unwrap();
        assert_eq!(entry.parent, Pid::from_raw(3));
        assert_eq!(entry.group, Pid::from_raw(5));
        assert_eq!(entry.session, Pid::from_raw(4));
        assert_eq!(entry.start, 7777);
        assert!(!entry.zombie);
    }

    /// Not compared with `getsid`: in a container our session may be one that cannot be seen, and then has no number.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "it ends with the test")]
    fn a_child_is_found_below_us() {
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let (own, pid) = (rustix::process::getpid(), Pid::from_child(&child));
        let all = all();
        let find = |pid| *all.iter().find(|entry| entry.pid == pid).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(find(own).parent, rustix::process::getppid());
        assert_eq!(find(pid).parent, Some(own));
        assert_eq!(find(pid).group, Some(pid));
        assert_eq!(find(pid).session, find(own).session);
    }
}
