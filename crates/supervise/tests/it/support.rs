//! Starting servers, and looking at what is left of them.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    time::{sleep, timeout},
};
use tokio_util::task::TaskTracker;
use toolbay_supervise::{
    ChildStdin, ChildStdout, Launch, ProcessHandle, Shim, SpawnError, StderrPolicy, StopGrace, spawn,
};

/// Long enough for a busy machine, short enough to fail before one loses patience.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) const HOST: &str = env!("CARGO_BIN_EXE_supervise-test-host");

/// Prints the process ids of five processes, of which the last is itself: two in its group, one in a session of its
/// own, one whose parent is dead. The script that follows decides how it behaves.
pub(crate) const FAMILY: &str = "
    sleep 1001 & echo $!
    sh -c 'sleep 1002; :' & echo $!
    setsid sleep 1003 & echo $!
    (setsid sh -c 'echo $$; exec sleep 1004' &)
    echo $$
";
pub(crate) const FAMILY_SIZE: usize = 5;

pub(crate) struct Server {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Lines<BufReader<ChildStdout>>,
    pub(crate) handle: ProcessHandle,
    pub(crate) tasks: TaskTracker,
}

pub(crate) fn shim() -> Shim {
    Shim::program(HOST)
}

/// A shell that runs `script`.
pub(crate) fn shell(script: &str) -> Launch {
    Launch {
        name: "test".into(),
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        cwd: None,
        stderr: StderrPolicy::Capture,
    }
}

pub(crate) fn grace(after_stdin: u64, after_term: u64) -> StopGrace {
    StopGrace {
        after_stdin: Duration::from_millis(after_stdin),
        after_term: Duration::from_millis(after_term),
    }
}

pub(crate) fn try_start(launch: &Launch, shim: &Shim, grace: StopGrace) -> Result<Server, SpawnError> {
    let tasks = TaskTracker::new();
    let process = spawn(launch, shim, grace, &tasks)?;
    Ok(Server {
        stdin: Some(process.stdin),
        stdout: BufReader::new(process.stdout).lines(),
        handle: process.handle,
        tasks,
    })
}

pub(crate) fn start(script: &str, shim: &Shim, grace: StopGrace) -> Server {
    try_start(&shell(script), shim, grace).unwrap()
}

impl Server {
    /// The next `count` lines, all of them process ids.
    pub(crate) async fn pids(&mut self, count: usize) -> Vec<u32> {
        let mut pids = Vec::new();
        while pids.len() < count {
            let line = timeout(DEADLINE, self.stdout.next_line()).await.unwrap().unwrap().unwrap();
            pids.push(line.trim().parse().unwrap());
        }
        pids
    }

    pub(crate) async fn exit(&self) -> String {
        timeout(DEADLINE, self.handle.exited()).await.expect("it ends").to_string()
    }

    /// Waits for the tasks too, which must end with the process.
    pub(crate) async fn end(self) -> String {
        let exit = self.exit().await;
        self.tasks.close();
        timeout(DEADLINE, self.tasks.wait()).await.expect("no task outlives the process");
        exit
    }
}

pub(crate) fn send(signal: Signal, pid: u32) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

/// The state and parent of a process, if there is one.
pub(crate) fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Those that still run.
pub(crate) fn alive(pids: &[u32]) -> Vec<u32> {
    let runs = |pid: &u32| stat(*pid).is_some_and(|(state, _)| state != 'Z');
    pids.iter().copied().filter(runs).collect()
}

/// Children of `parent` that have ended and were not reaped.
pub(crate) fn zombies_of(parent: u32) -> Vec<u32> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| stat(pid) == Some(('Z', parent))).collect()
}

/// Waits until none of `pids` runs, and returns how long that took.
pub(crate) async fn until_gone(pids: &[u32]) -> Duration {
    let start = Instant::now();
    while !alive(pids).is_empty() {
        assert!(start.elapsed() < DEADLINE, "{:?} of {pids:?} are left", alive(pids));
        sleep(Duration::from_millis(1)).await;
    }
    start.elapsed()
}

/// Waits until `ready` holds.
pub(crate) async fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        sleep(Duration::from_millis(1)).await;
    }
}
