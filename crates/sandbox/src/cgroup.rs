//! A cgroup (version 2) for a sandbox, where one is delegated to us.
//!
//! That is so for services with `Delegate=`, in sessions of systemd, and for the super-user. The kernel then counts all
//! memory, also what no process has mapped, and processes of every user.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::Limits;

/// What the names of our cgroups begin with. The process id of the helper follows.
const NAME: &str = "toolbay-sandbox-";
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A cgroup with limits, deleted when it is dropped with all processes in it.
#[derive(Debug)]
pub(crate) struct Cgroup {
    directory: PathBuf,
}

impl Cgroup {
    /// Creates one beside or below the cgroup of this process. `None` if that may not be.
    pub(crate) fn create(limits: &Limits) -> Option<Self> {
        let own = own_cgroup()?;
        Self::create_below(&own, limits).or_else(|| Self::create_below(own.parent()?, limits))
    }

    fn create_below(parent: &Path, limits: &Limits) -> Option<Self> {
        let enabled = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        if !CONTROLLERS.iter().all(|name| enabled.split_whitespace().any(|enabled| enabled == *name)) {
            return None;
        }
        remove_abandoned(parent);
        let directory = parent.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let cgroup = Self { directory };
        let set = |file: &str, value: String| fs::write(cgroup.directory.join(file), value);
        set("memory.max", limits.memory.to_string()).ok()?;
        // Init counts, too.
        set("pids.max", limits.processes.saturating_add(1).to_string()).ok()?;
        // Not on every kernel.
        let _ = set("memory.swap.max", "0".to_owned());
        let _ = set("memory.oom.group", "1".to_owned());
        Some(cgroup)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the kernel has ended it for its memory.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.directory.join("memory.events")).unwrap_or_default();
        let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok());
        killed.is_some_and(|killed| killed > 0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::write(self.directory.join("cgroup.kill"), "1");
        // Processes that were killed need a moment.
        for _ in 0..20 {
            if fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Moves the calling process into a cgroup.
pub(crate) fn join(directory: &Path) -> io::Result<()> {
    fs::write(directory.join("cgroup.procs"), "0")
}

/// The directory of this process in the hierarchy of version 2.
fn own_cgroup() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let root = mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        file_system.starts_with("cgroup2 ").then(|| mount.split(' ').nth(4)).flatten()
    })?;
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(root).join(path))
}

/// Removes the cgroups of helpers that were killed. One that is in use cannot be removed.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let helper = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if helper.is_some_and(|helper| !Path::new(&format!("/proc/{helper}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_only_where_the_controllers_are_enabled() {
        let parent = tempfile::tempdir().unwrap();
        let control = parent.path().join("cgroup.subtree_control");
        let limits = Limits::default();
        assert!(Cgroup::create_below(parent.path(), &limits).is_none(), "there is no cgroup at all");
        fs::write(&control, "cpu pids\n").unwrap();
        assert!(Cgroup::create_below(parent.path(), &limits).is_none(), "memory is not enabled");
        fs::write(&control, "cpu memory pids\n").unwrap();
        let abandoned = parent.path().join(format!("{NAME}{}", u32::MAX));
        fs::create_dir(&abandoned).unwrap();
        let cgroup = Cgroup::create_below(parent.path(), &limits).unwrap();
        assert!(!abandoned.exists());
        let read = |file: &str| fs::read_to_string(cgroup.directory().join(file)).unwrap();
        assert_eq!((read("memory.max"), read("pids.max")), ((4_u64 << 30).to_string(), "513".to_owned()));
        join(cgroup.directory()).unwrap();
        assert_eq!(read("cgroup.procs"), "0");
        assert!(!cgroup.was_out_of_memory());
        fs::write(cgroup.directory().join("memory.events"), "low 0\noom 1\noom_kill 1\n").unwrap();
        assert!(cgroup.was_out_of_memory());
    }
}
