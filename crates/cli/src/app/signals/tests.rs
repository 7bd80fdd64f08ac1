//! Each test runs this binary again, as a process whose runtime is blocked on purpose.
#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself, and is told by a variable what it is"
)]

use std::{
    env,
    io::{BufRead, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command, Stdio},
    time::Instant,
};

use super::*;

const ROLE: &str = "TOOLBAY_TEST_BLOCKED";
/// Short enough for a test.
const QUICK: Timing = Timing { check: Duration::from_millis(20), tick: Duration::from_millis(40), ..TIMING };
/// Never gives up by itself while a test runs.
const SLOW: Timing = Timing { tick: Duration::from_secs(10), ..QUICK };

/// The process that the other tests start; does nothing in a run of all tests.
#[test]
fn blocked_process() {
    let Ok(role) = env::var(ROLE) else { return };
    tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).init();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let timing = if role == "insisted" { SLOW } else { QUICK };
        listen_with(timing, stop.clone(), Stalls::Reported).unwrap();
        println!("ready");
        match role.as_str() {
            "recovering" => thread::sleep(QUICK.tick * 30),
            "running" => {}
            // Even when it is stuck while it holds the lock of the log.
            _ => {
                let _held = io::stderr().lock();
                loop {
                    thread::sleep(Duration::from_secs(60));
                }
            }
        }
        stop.cancelled().await;
        println!("stopped");
        sleep(QUICK.tick * 30).await; // its servers take their time
    });
}

struct Blocked {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Blocked {
    fn start(role: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["app::signals::tests::blocked_process", "--exact", "--nocapture"]).env(ROLE, role);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut blocked = Self { child, stdout, stderr };
        blocked.expect_line("ready");
        blocked
    }

    fn expect_line(&mut self, text: &str) {
        assert!(self.stdout.any(|line| line.unwrap().contains(text)), "it never prints {text:?}");
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// The exit status, which must come before long.
    fn end(mut self) -> Option<i32> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().unwrap();
        panic!("it does not end");
    }
}

#[test]
fn the_second_signal_ends_a_blocked_process() {
    // Two of the same kind that are sent at once arrive as one.
    for (first, second, status) in [("-INT", "-TERM", 143), ("-TERM", "-INT", 130), ("-TERM", "-HUP", 129)] {
        let blocked = Blocked::start("insisted");
        blocked.signal(first);
        blocked.signal(second);
        let ended = blocked.end();
        // Which of them is seen first is undefined.
        assert!(ended == Some(status) || ended == Some(if first == "-INT" { 130 } else { 143 }), "{ended:?}");
    }
}

#[test]
fn a_blocked_process_ends_some_time_after_the_first_signal() {
    let blocked = Blocked::start("stuck");
    blocked.signal("-TERM");
    assert_eq!(blocked.end(), Some(1));
}

#[test]
fn a_process_that_runs_has_all_the_time_it_needs_to_stop() {
    let mut running = Blocked::start("running");
    running.signal("-TERM");
    running.expect_line("stopped");
    assert_eq!(running.end(), Some(0));
}

#[test]
fn a_stall_is_reported_once_and_so_is_its_end() {
    let mut recovering = Blocked::start("recovering");
    let mut next = || recovering.stderr.next().unwrap().unwrap();
    let (stalled, recovered) = (next(), next());
    assert!(stalled.contains("the hub has been blocked for"), "{stalled}");
    assert!(recovered.contains("the hub is running again, after"), "{recovered}");
    recovering.signal("-TERM");
    recovering.expect_line("stopped");
    assert_eq!(recovering.end(), Some(0));
}
