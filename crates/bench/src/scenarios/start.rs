//! Starting a target, and how long it takes until it listens and answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::measure::median;
use super::targets::{Address, Target};
use super::{Places, process};

const LONGEST_START: Duration = Duration::from_secs(60);

/// A target that can be called.
pub(super) struct Running {
    pub(super) target: Target,
    pub(super) address: Address,
    child: Option<Child>,
    starts: Vec<StartTimes>,
    idle_rss_kib: Option<IdleRss>,
}

#[derive(Debug, Clone, Copy)]
struct StartTimes {
    listening: Duration,
    answering: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct IdleRss {
    /// The process that was started, alone.
    pub(super) main: u64,
    pub(super) tree: u64,
}

impl Running {
    /// Starts `target` several times, for the start time; the last one stays.
    pub(super) fn start(target: Target, places: &Places, times: usize) -> anyhow::Result<Self> {
        let address = Address::Command(Vec::new());
        let mut running = Self { target, address, child: None, starts: Vec::new(), idle_rss_kib: None };
        for _ in 0..times {
            running.restart(places)?;
        }
        if let Some(pid) = running.pid() {
            // What the start itself needed is given back within a moment, or never.
            std::thread::sleep(Duration::from_millis(500));
            running.idle_rss_kib =
                Some(IdleRss { main: process::rss_kib(pid), tree: process::tree_rss_kib(pid) });
        }
        Ok(running)
    }

    pub(super) fn restart(&mut self, places: &Places) -> anyhow::Result<()> {
        self.stop();
        let port = free_port()?;
        let (command, address) = self.target.launch(port)?;
        self.address = address;
        if let Some(command) = command {
            let started = Instant::now();
            let child = spawn(&command, places, self.target.name)?;
            let child = self.child.insert(child);
            self.starts.push(wait_until_answering(child, port, &self.target.post_url(port), started)?);
        }
        if let Address::Command(command) = &self.address {
            ensure!(Path::new(&command[0]).exists(), "{} is missing", command[0]);
        }
        Ok(())
    }

    pub(super) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            process::end(&mut child);
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id).or_else(|| self.target.pid())
    }

    pub(super) fn idle_rss(&self) -> Option<IdleRss> {
        self.idle_rss_kib
    }

    /// Milliseconds until it listened, and until it answered.
    pub(super) fn start_ms(&self) -> Option<(f64, f64)> {
        let of = |pick: fn(&StartTimes) -> Duration| {
            median(self.starts.iter().map(|start| pick(start).as_secs_f64() * 1e3))
        };
        Some((of(|start| start.listening)?, of(|start| start.answering)?))
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.target.name, "route": self.target.route,
            "listening_ms": self.start_ms().map(|start| start.0), "answering_ms": self.start_ms().map(|start| start.1),
            "idle_rss_kib": self.idle_rss_kib.map(|rss| rss.main), "idle_tree_rss_kib": self.idle_rss_kib.map(|rss| rss.tree),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn spawn(command: &[String], places: &Places, name: &str) -> anyhow::Result<Child> {
    let log = std::fs::File::create(places.scratch.join(format!("{name}.log")))?;
    let mut start = Command::new(&command[0]);
    places.isolate(&mut start)?;
    start
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start {}", command[0]))
}

fn wait_until_answering(
    child: &mut Child,
    port: u16,
    url: &str,
    started: Instant,
) -> anyhow::Result<StartTimes> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut listening = None;
    while started.elapsed() < LONGEST_START {
        if let Some(status) = child.try_wait()? {
            bail!("it ended at once: {status}");
        }
        if let Ok(stream) = TcpStream::connect(address) {
            let listening = *listening.get_or_insert_with(|| started.elapsed());
            if answers(stream, url).unwrap_or(false) {
                return Ok(StartTimes { listening, answering: started.elapsed() });
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    bail!("no response within {} s", LONGEST_START.as_secs())
}

/// Whether `initialize` is answered with success.
fn answers(mut stream: TcpStream, url: &str) -> anyhow::Result<bool> {
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let authority = stream.peer_addr()?;
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(&status[9..] == b"200")
}
