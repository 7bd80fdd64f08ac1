//! How much a program and all that it starts may use.
//!
//! The kernel enforces what it can: files, CPU time and, but for the super-user, processes. The rest is counted by the helper,
//! twenty times a second; where a cgroup is delegated to us the kernel does that, too.

use std::{fmt, fs, io, path::Path};

use rustix::process::{Resource, Rlimit, getuid, setrlimit};

use crate::{Level, Policy, mounts};

/// Limits the calling process and all that it starts.
pub(crate) fn apply(policy: &Policy) -> io::Result<()> {
    let limits = &policy.limits;
    // In a user namespace of its own, only its own processes count.
    let others = if policy.level == Level::Full { 0 } else { tasks_of_user() };
    // Programs often reserve much more than they use.
    let data = policy.function.as_ref().map(|_| (Resource::Data, limits.memory));
    for (resource, limit) in [
        (Resource::Nproc, limits.processes.saturating_add(others)),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_size),
        (Resource::Core, 0),
    ]
    .into_iter()
    .chain(data)
    {
        let lowered = rustix::process::getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        setrlimit(resource, Rlimit { current: Some(lowered), maximum: Some(lowered) })?;
    }
    Ok(())
}

/// Processes and threads of this user.
fn tasks_of_user() -> u64 {
    let user = getuid().as_raw().to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let tasks = processes.flatten().filter_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let owner = field(&status, "Uid:")?;
        (owner == user).then(|| field(&status, "Threads:")?.parse::<u64>().ok()).flatten()
    });
    tasks.sum()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
}

/// A limit that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// More than this many bytes.
    Memory(u64),
    /// More than this many processes and threads.
    Processes(u64),
    /// Fewer than this many bytes are free.
    Disk(u64),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(most) => write!(f, "ended, because it used more than {} MiB of memory", most >> 20),
            Self::Processes(most) => write!(f, "ended, because it started more than {most} processes"),
            Self::Disk(least) => {
                write!(f, "ended, because less than {} MiB of the disk are free", least >> 20)
            }
        }
    }
}

impl Excess {
    /// The limit that a process and all below it exceed, if any. `free` is what was free on the disks at the start: a disk
    /// that was full before is not the program's doing.
    pub(crate) fn find(init: u32, policy: &Policy, free: u64) -> Option<Self> {
        let limits = &policy.limits;
        let least = limits.free_disk.min(free);
        if free_disk(policy) < least.saturating_sub(1 << 20) {
            return Some(Self::Disk(limits.free_disk));
        }
        let mut processes = vec![init];
        let (mut memory, mut tasks) = (temporary_files(init), 0);
        // Grows while it is walked: children follow their parents.
        let mut next = 0;
        while let Some(&process) = processes.get(next) {
            next += 1;
            let (resident, threads) = resident(process);
            memory += resident;
            tasks += threads;
            // Init is ours.
            if tasks > limits.processes.saturating_add(1) {
                return Some(Self::Processes(limits.processes));
            }
            processes.extend(children(process));
        }
        // Memory that several processes share was counted for each. The exact sum takes longer.
        let is_exceeded = |memory| memory > limits.memory;
        if is_exceeded(memory) {
            let shared = processes.iter().map(|&process| proportional(process)).sum::<u64>();
            return is_exceeded(temporary_files(init) + shared).then_some(Self::Memory(limits.memory));
        }
        None
    }
}

/// Bytes that are free where a program may write, on the disk that has least.
pub(crate) fn free_disk(policy: &Policy) -> u64 {
    let free = |path: &std::path::PathBuf| {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(found.f_bavail * found.f_frsize)
    };
    policy.write.iter().filter_map(free).min().unwrap_or(u64::MAX)
}

pub(crate) fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let lists = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let list = fs::read_to_string(task.path().join("children")).ok()?;
        Some(list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>())
    });
    lists.flatten().collect()
}

/// Bytes in memory for a process, apart from files, and its threads.
fn resident(process: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let number = |name| field(&status, name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    ((number("RssAnon:") + number("RssShmem:")) * 1024, number("Threads:"))
}

/// The same, with each shared page counted in part for each that shares it.
fn proportional(process: u32) -> u64 {
    let Ok(rollup) = fs::read_to_string(format!("/proc/{process}/smaps_rollup")) else {
        return resident(process).0;
    };
    let number = |name| field(&rollup, name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    (number("Pss_Anon:") + number("Pss_Shmem:")) * 1024
}

/// Bytes of the temporary files, which are in memory.
fn temporary_files(init: u32) -> u64 {
    let directory = format!("/proc/{init}/root{}", mounts::TEMPORARY);
    rustix::fs::statvfs(Path::new(&directory))
        .map_or(0, |found| (found.f_blocks - found.f_bfree) * found.f_frsize)
}
