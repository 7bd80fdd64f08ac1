//! Faults, each with the expected effect on clients, the hub's memory and the process table.
//!
//! Every test runs the real hub with two servers: `bad`, which has the fault, and `good`, which a bystander calls all
//! the time and which must not be affected. No process may be left in the end.

mod clients; // slow ones, those who do not read, and thousands at once
mod crashes;
mod limits; // peers that would take all memory or time
mod lists;
mod machine; // small, slow, or stopped for a while
mod messages;
mod network;
mod reload; // the configuration changes while the hub runs
mod remote_restarts;
mod results; // longer than clients should get
mod stop;
mod traffic;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_testkit::harness::{Baseline, Client, Hub, Programs, Setup};

/// Sooner than whatever is waited for in vain, with slack for busy machines.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A hub with a fault.
struct Scene {
    hub: Hub,
    bystander: Bystander,
    /// What everything must come back to.
    expected: Option<Baseline>,
    folder: TempDir,
}

impl Scene {
    /// Starts both servers and waits until both are ready.
    fn new(flags: &[&str], tuning: Value) -> Result<Self> {
        let mut scene = Self::starting(flags, tuning)?;
        scene.settle()?;
        Ok(scene)
    }

    /// Starts both servers and waits until `good` is ready.
    fn starting(flags: &[&str], tuning: Value) -> Result<Self> {
        let folder = folder()?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        let (received, spawned, sleepers) = (at("received"), at("spawned"), at("sleepers"));
        let mut all = vec!["--received", &received, "--spawn-log", &spawned, "--pid-file", &sleepers];
        all.extend(flags);
        let setup = Setup::new(programs()?, folder.path()).healthy("good").hostile("bad", &all, tuning);
        let hub = setup.start()?;
        hub.wait_for("good", "ready")?;
        let bystander = Bystander::start(&hub)?;
        Ok(Self { hub, bystander, expected: None, folder })
    }

    /// Waits until `bad` is ready, and remembers what is there then.
    fn settle(&mut self) -> Result<()> {
        self.hub.wait_for("bad", "ready")?;
        let mut expected = self.hub.baseline()?;
        expected.fds -= 1; // the bystander's connection, which will be gone
        self.expected = Some(expected);
        Ok(())
    }

    fn client(&self) -> Result<Client> {
        self.hub.client()
    }

    /// What `GET /health` says of `bad`.
    fn bad(&self) -> Result<Value> {
        self.hub.server("bad")
    }

    /// Messages with this method that reached `bad` so far.
    fn received(&self, method: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("received")).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter(|message| message["method"] == method).collect()
    }

    /// How often `bad` was started.
    fn spawned(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("spawned")).unwrap_or_default().lines().count()
    }

    /// Nobody else noticed, nothing is left; then stops the hub, and still nothing is left.
    fn end(self) -> Result<()> {
        let expected = self.expected.context("a scene must settle first")?;
        self.end_as(expected)
    }

    /// As [`Self::end`], for a scene that does not come back to what it was.
    fn end_as(mut self, expected: Baseline) -> Result<()> {
        self.bystander.leave()?;
        self.hub.expect_idle(expected)?;
        self.hub.stop()?;
        Ok(())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Shown only when the test fails.
        eprintln!("the hub said:\n{}", self.hub.stderr());
    }
}

/// What is there when only `good` runs.
fn without_bad() -> Result<Baseline> {
    let folder = folder()?;
    let mut hub = Setup::new(programs()?, folder.path()).healthy("good").start()?;
    hub.wait_for("good", "ready")?;
    let expected = hub.baseline()?;
    hub.stop()?;
    Ok(expected)
}

/// A client of `good`, from the beginning to the end.
struct Bystander {
    leaves: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<Result<Seen>>>,
}

/// What the bystander saw.
struct Seen {
    calls: usize,
    slowest: Duration,
}

impl Bystander {
    /// A call of `good` takes a few milliseconds; this is for machines that do much else.
    const SLOWEST: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(5);

    fn start(hub: &Hub) -> Result<Self> {
        let mut client = hub.client()?;
        let leaves = Arc::new(AtomicBool::new(false));
        let told = leaves.clone();
        let thread = thread::spawn(move || {
            let mut seen = Seen { calls: 0, slowest: Duration::ZERO };
            while !told.load(Ordering::Relaxed) {
                let (text, started) = (format!("call {}", seen.calls), Instant::now());
                let answer = client.text("good__echo", json!({ "text": text }))?;
                ensure!(answer == text, "sent {text}, received {answer}");
                seen.slowest = seen.slowest.max(started.elapsed());
                seen.calls += 1;
                thread::sleep(Self::PAUSE);
            }
            Ok(seen)
        });
        Ok(Self { leaves, thread: Some(thread) })
    }

    fn leave(&mut self) -> Result<()> {
        self.leaves.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let seen = thread.join().expect("it returns its failures").context("a bystander's call failed")?;
        ensure!(seen.calls > 0, "the bystander never had its turn");
        ensure!(seen.slowest < Self::SLOWEST, "a bystander's call took {:?}", seen.slowest);
        Ok(())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.leaves.store(true, Ordering::Relaxed);
    }
}

fn programs() -> Result<Programs> {
    Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))
}

fn folder() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("toolbay-").tempdir()?)
}

/// The process of `bad` itself.
fn server_pid(hub: &Hub) -> Result<u32> {
    let family = hub.processes();
    let server = family.iter().find(|one| {
        let has = |wanted: &str| one.arguments.iter().any(|argument| argument.contains(wanted));
        has("toolbay-hostile") && !has("--descendant")
    });
    Ok(server.context("`bad` does not run")?.pid)
}

/// Says that `text` has all these parts.
fn says(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "`{part}` is not in: {text}");
    }
    Ok(())
}
