//! A hub for one measurement, and how figures are written.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_testkit::harness::{Client, Hub, Programs, Setup, wait_until};

/// One line of the table.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) what: &'static str,
    pub(super) measured: String,
    pub(super) goal: &'static str,
}

impl Figure {
    pub(super) fn new(what: &'static str, measured: impl ToString, goal: &'static str) -> Self {
        Self { what, measured: measured.to_string(), goal }
    }

    pub(super) fn ms(what: &'static str, time: Duration, goal: &'static str) -> Self {
        Self::new(what, format!("{:.1} ms", time.as_secs_f64() * 1000.0), goal)
    }

    pub(super) fn mib(what: &'static str, kib: u64, goal: &'static str) -> Self {
        Self::new(what, format!("{:.1} MiB", crate::scenarios::report::table::mib(kib)), goal)
    }
}

/// Where hubs are started.
#[derive(Debug)]
pub(super) struct Stage {
    programs: Programs,
}

/// A hub with the servers `good` and `bad`; everything ends with it.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) hub: Hub,
    folder: TempDir,
}

impl Stage {
    pub(super) fn new(programs: Programs) -> Self {
        Self { programs }
    }

    /// The programs of the build that is measured.
    pub(super) fn programs(&self) -> Programs {
        self.programs.clone()
    }

    /// Where one of the programs is.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.path(name)
    }

    /// Starts a hub and waits until both servers are ready.
    pub(super) fn ready(&self, flags: &[&str], tuning: Value) -> Result<Scene> {
        let scene = self.start(flags, tuning)?;
        scene.hub.wait_for("bad", "ready")?;
        scene.hub.wait_for("good", "ready")?;
        Ok(scene)
    }

    /// Starts a hub and waits until it listens.
    pub(super) fn start(&self, flags: &[&str], tuning: Value) -> Result<Scene> {
        let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        let (received, spawned, sleepers) = (at("received"), at("spawned"), at("sleepers"));
        let mut all = vec!["--received", &received, "--spawn-log", &spawned, "--pid-file", &sleepers];
        all.extend(flags);
        let setup = Setup::new(self.programs.clone(), folder.path());
        let hub = setup.healthy("good").hostile("bad", &all, tuning).start()?;
        Ok(Scene { hub, folder })
    }
}

impl Scene {
    pub(super) fn file(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    /// How many messages with this method have reached `bad`.
    pub(super) fn received(&self, method: &str) -> usize {
        let text = std::fs::read_to_string(self.file("received")).unwrap_or_default();
        let method = format!("\"method\":\"{method}\"");
        text.lines().filter(|line| line.contains(&method)).count()
    }

    /// How often `bad` was started.
    pub(super) fn spawned(&self) -> usize {
        std::fs::read_to_string(self.file("spawned")).unwrap_or_default().lines().count()
    }

    /// Waits until `bad` is ready for the second time.
    pub(super) fn await_second_life(&self) -> Result<()> {
        self.hub
            .wait_until("bad", "its second life", |bad| bad["starts"] == 2 && bad["state"] == "ready")
            .map(drop)
    }

    /// Waits until `bad` has this many calls.
    pub(super) fn await_calls(&self, count: usize) -> Result<()> {
        self.hub.wait_until("bad", "calls", |bad| bad["counts"]["in_flight"] == count).map(drop)
    }

    /// Waits until the grandchildren of `bad` are there.
    pub(super) fn await_sleepers(&self) -> Result<()> {
        wait_until("three sleepers", || {
            let family = self.hub.processes();
            let sleeper = |arguments: &[String]| arguments.iter().any(|it| it == "--descendant");
            Ok((family.iter().filter(|one| sleeper(&one.arguments)).count() == 3).then_some(()))
        })
    }
}

/// How long a call takes that is answered somehow.
pub(super) fn timed_call(client: &mut Client, tool: &str, arguments: Value) -> Result<Duration> {
    let asked = Instant::now();
    client.call(tool, arguments)?;
    Ok(asked.elapsed())
}

/// The slowest of a hundred, of `count` calls.
pub(super) fn p99(client: &mut Client, tool: &str, count: usize) -> Result<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(timed_call(client, tool, json!({ "text": "x" }))?);
    }
    percentile(times, 99)
}

pub(super) fn percentile(mut times: Vec<Duration>, percent: usize) -> Result<Duration> {
    times.sort_unstable();
    let last = times.len().checked_sub(1).context("nothing was measured")?;
    Ok(times[(times.len() * percent / 100).min(last)])
}

/// The one in the middle.
pub(super) fn median(times: Vec<Duration>) -> Result<Duration> {
    percentile(times, 50)
}
