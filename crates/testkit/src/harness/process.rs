//! Processes as `/proc` shows them.

use std::{fs, time::Duration};

/// Linux counts the CPU time it shows in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// One process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// A zombie: its exit status was not read yet.
    pub is_zombie: bool,
    /// Its arguments, the program first; empty for zombies.
    pub arguments: Vec<String>,
    environment: Vec<u8>,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold anything; the rest begins after the last one.
        let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (rest.next()?, rest.next()?.parse().ok()?);
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let arguments = arguments.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into());
        Some(Self {
            pid,
            parent,
            is_zombie: state == "Z" || state == "X",
            arguments: arguments.collect(),
            environment: fs::read(format!("/proc/{pid}/environ")).unwrap_or_default(),
        })
    }

    /// Whether it is the process between the hub and a server.
    pub fn is_shim(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "__shim")
    }

    /// Whether its environment has `name=value`.
    pub fn has_variable(&self, variable: &str) -> bool {
        self.environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    }
}

/// All processes that we may look at.
pub fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// How many files a process has open.
pub fn fds(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// CPU time that a process has used.
pub fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// A figure of `/proc/<pid>/status` in KiB, such as `VmRSS` or `VmHWM`.
pub(super) fn memory_kib(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Lets the kernel count the peak of a process's memory from now on.
pub(super) fn forget_peak(pid: u32) {
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5"); // then the peak is since the start
}
