//! Process trees as `/proc` shows them: CPU time, resident memory, and their end.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

/// Linux counts the CPU time it shows in hundredths of a second.
const TICK_SECONDS: f64 = 0.01;
/// These are what is called or what calls, never the proxy.
const ECHO: &str = "toolbay-echo";
const LOAD: &str = "toolbay-load";

struct Process {
    parent: u32,
    name: String,
    ticks: u64,
}

/// CPU time of a tree at one moment, by process.
pub(super) struct CpuTimes(HashMap<u32, (bool, u64)>);

/// CPU seconds spent between two moments.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuSpent {
    pub(super) proxy: f64,
    pub(super) echo: f64,
}

impl CpuTimes {
    /// Reads the clocks of the trees below and with `roots`.
    pub(super) fn read(roots: &[u32]) -> Self {
        let trees = roots.iter().flat_map(|root| tree(*root));
        let times = trees.filter(|(_, process)| process.name != LOAD);
        Self(times.map(|(pid, process)| (pid, (process.name == ECHO, process.ticks))).collect())
    }

    pub(super) fn until(&self, later: &Self) -> CpuSpent {
        let mut spent = CpuSpent { proxy: 0.0, echo: 0.0 };
        for (pid, (is_echo, ticks)) in &later.0 {
            let before = self.0.get(pid).map_or(0, |(_, ticks)| *ticks);
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52 ticks")]
            let seconds = ticks.saturating_sub(before) as f64 * TICK_SECONDS;
            *if *is_echo { &mut spent.echo } else { &mut spent.proxy } += seconds;
        }
        spent
    }
}

/// Resident memory of `root` alone, in KiB.
pub(super) fn rss_kib(root: u32) -> u64 {
    memory_kib(root, "VmRSS:")
}

/// The most memory that `root` alone ever had, in KiB.
pub fn peak_kib(root: u32) -> u64 {
    memory_kib(root, "VmHWM:")
}

fn memory_kib(pid: u32, kind: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(kind));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The share of a process in memory, in KiB: pages that others share count in part.
pub fn pss_kib(pid: u32) -> u64 {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Resident memory of the tree without echo servers, in KiB. Pages that processes share count for each.
pub(super) fn tree_rss_kib(root: u32) -> u64 {
    let tree = tree(root);
    tree.iter()
        .filter(|(_, process)| process.name != ECHO && process.name != LOAD)
        .map(|(pid, _)| rss_kib(*pid))
        .sum()
}

/// Ends the tree: first politely, so that it can end its own children, then for certain.
pub(super) fn end(child: &mut std::process::Child) {
    let pids: Vec<u32> = tree(child.id()).into_keys().collect();
    signal("-TERM", &[child.id()]);
    for _ in 0..100 {
        if child.try_wait().is_ok_and(|status| status.is_some()) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    let left: Vec<u32> =
        pids.into_iter().filter(|pid| name_of(*pid).is_some_and(|name| name == ECHO)).collect();
    signal("-KILL", &left);
}

/// The load average, if other programs use the machine. To be read before anything is measured.
pub(super) fn busy() -> Option<f64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()?;
    (load > 0.7).then_some(load)
}

fn signal(which: &str, pids: &[u32]) {
    if !pids.is_empty() {
        let _ = Command::new("kill").arg(which).args(pids.iter().map(u32::to_string)).output();
    }
}

fn name_of(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

fn tree(root: u32) -> HashMap<u32, Process> {
    let mut all = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(process) = process(pid) {
            all.insert(pid, process);
        }
    }
    let below = |mut pid: u32| {
        // As many steps as there are processes, should /proc have changed while it was read.
        for _ in 0..all.len() {
            if pid == root {
                return true;
            }
            match all.get(&pid) {
                Some(process) => pid = process.parent,
                None => return false,
            }
        }
        false
    };
    let inside: Vec<u32> = all.keys().copied().filter(|pid| below(*pid)).collect();
    inside.into_iter().filter_map(|pid| Some((pid, all.remove(&pid)?))).collect()
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; the rest begins after the last one.
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Process { parent: fields.get(1)?.parse().ok()?, name, ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_this_test_holds_its_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let tree = tree(std::process::id());
        assert_eq!(tree.get(&child.id()).map(|process| process.parent), Some(std::process::id()));
        assert!(rss_kib(std::process::id()) > 0);
        end(&mut child);
        assert!(!super::tree(std::process::id()).contains_key(&child.id()));
    }
}
