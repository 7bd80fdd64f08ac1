//! `kill -9` of the host and of the shim.

use std::{
    io::{BufRead, BufReader, Lines},
    process::{Child, ChildStdout, Command, Stdio},
    time::Instant,
};

use rustix::process::Signal;

use crate::support::*;

struct Host {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
}

impl Host {
    #[expect(clippy::disallowed_methods, reason = "a host is no server: it is what supervises")]
    fn start(script: &str) -> Self {
        let mut command = Command::new(HOST);
        command.args(["60000", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, output }
    }

    fn line(&mut self) -> String {
        self.output.next().unwrap().unwrap()
    }

    fn pids(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.line().trim().parse().unwrap()).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn nothing_is_left_when_the_host_is_killed() {
    let mut host = Host::start(&format!("trap '' TERM HUP; {FAMILY} exec sleep 1000"));
    let mut pids = host.pids(FAMILY_SIZE);
    let shim = stat(pids[FAMILY_SIZE - 1]).unwrap().1;
    assert_eq!(stat(shim).unwrap().1, host.process.id());
    pids.push(shim);
    assert_eq!(alive(&pids).len(), FAMILY_SIZE + 1);
    host.process.kill().unwrap();
    let took = until_gone(&pids).await;
    eprintln!("kill -9 of the host: all gone after {took:?}");
    assert!(took.as_millis() < 2_500, "{took:?}");
}

#[tokio::test]
async fn nothing_is_left_when_the_shim_is_killed() {
    let mut host = Host::start(&format!("trap '' TERM HUP; {FAMILY} exec sleep 1000"));
    let pids = host.pids(FAMILY_SIZE);
    let shim = stat(pids[FAMILY_SIZE - 1]).unwrap().1;
    let start = Instant::now();
    send(Signal::KILL, shim);
    assert_eq!(host.line(), "lost: its shim was killed");
    eprintln!("kill -9 of the shim: told after {:?}", start.elapsed());
    assert_eq!(alive(&pids), []);
    assert_eq!(stat(shim), None);
    assert_eq!(zombies_of(host.process.id()), []);
}

#[tokio::test]
async fn a_server_whose_first_thread_has_ended_is_killed_and_reaped_too() {
    // 60 is `exit` of one thread. Such a process looks dead in `/proc`, but runs on and cannot be reaped.
    const HEADLESS: &str = "import ctypes, os, threading, time; print(os.getpid(), flush=True); \
        threading.Thread(target=time.sleep, args=(1000,)).start(); ctypes.CDLL(None).syscall(60, 0)";
    let python = format!("exec env PATH=$PATH:/usr/local/bin python3 -c '{HEADLESS}'");
    let mut host = Host::start(&python);
    let pid = host.pids(1)[0];
    until("its first thread has ended", || stat(pid).is_some_and(|(state, _)| state == 'Z')).await;
    let tasks = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    assert_eq!(tasks(), 2, "and another runs on");
    send(Signal::KILL, stat(pid).unwrap().1);
    assert_eq!(host.line(), "lost: its shim was killed");
    assert_eq!(stat(pid), None);
}

#[tokio::test]
async fn the_host_does_the_work_of_a_shim_that_was_stopped() {
    let mut server = start(&format!("{FAMILY} exec cat"), &shim(), grace(1, 1));
    let pids = server.pids(FAMILY_SIZE).await;
    let shim = stat(pids[FAMILY_SIZE - 1]).unwrap().1;
    send(Signal::STOP, shim);
    server.handle.kill();
    server.end().await;
    assert_eq!(alive(&pids), []);
    assert_eq!(stat(shim), None);
}

#[tokio::test]
async fn orphans_are_reaped_while_the_server_runs() {
    // The inner shell ends at once, so its child falls to the shim, and ends too.
    let mut server = start("(sh -c 'echo $$' &); echo $$; exec cat", &shim(), grace(1, 1));
    let pids = server.pids(2).await;
    let server_pid = server.handle.started().await.unwrap();
    let orphan = pids.into_iter().find(|&pid| pid != server_pid).unwrap();
    until("the orphan is reaped", || stat(orphan).is_none()).await;
    assert_eq!(alive(&[server_pid]), [server_pid]);
}
