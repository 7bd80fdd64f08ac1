//! How much memory processes use.

use std::{collections::HashMap, fs};

/// The resident memory of a process, in KiB.
pub(crate) fn of_process(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The resident memory of all that a process started, and what that started, in KiB.
pub(crate) fn below_process(pid: u32) -> u64 {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut waiting = vec![pid];
    let mut sum = 0;
    while let Some(next) = waiting.pop() {
        for child in children.remove(&next).unwrap_or_default() {
            sum += of_process(child).unwrap_or(0);
            waiting.push(child);
        }
    }
    sum
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may itself contain some.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}
