//! How much a program and all that it starts may use.

use std::{fs, io, path::Path};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::Limits;

/// Limits the calling process and all that it starts.
pub(crate) fn apply(limits: &Limits) -> io::Result<()> {
    for (resource, limit) in [
        (Resource::Nproc, limits.processes),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_size),
        (Resource::Core, 0),
    ] {
        let lowered = rustix::process::getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        setrlimit(resource, Rlimit { current: Some(lowered), maximum: Some(lowered) })?;
    }
    Ok(())
}

/// The memory that a process and all below it use, in bytes.
pub(crate) fn memory_of(process: u32) -> u64 {
    let mut used = resident(process);
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    for task in tasks.into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        used +=
            children.split_whitespace().filter_map(|child| child.parse().ok()).map(memory_of).sum::<u64>();
    }
    used
}

/// What is in memory for this process alone: shared pages count in part for each that shares them where the kernel tells
/// so, which takes longer.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
    let anonymous = |line: &str| {
        let value = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    status.unwrap_or_default().lines().filter_map(anonymous).sum::<u64>() * 1024
}
