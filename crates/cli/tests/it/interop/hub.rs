//! A running `toolbay`, ended when the test ends.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::stage::{Launch, Target};

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Http,
    Sse,
    WebSocket,
    Stdio,
}

#[derive(Debug)]
pub(super) struct Hub {
    target: Target,
    /// `toolbay serve`; on stdio, the client starts its own `toolbay stdio`.
    serving: Option<Child>,
    /// Servers that run beside it.
    remote: Vec<Child>,
    log: PathBuf,
}

impl Hub {
    pub(super) fn start(
        front: Front,
        mut command: Command,
        config: &Path,
        remote: Vec<Child>,
        log: &Path,
    ) -> Self {
        let config = config.to_string_lossy().into_owned();
        let log = log.to_owned();
        if front == Front::Stdio {
            let command = command.get_program().to_string_lossy().into_owned();
            let args = vec!["stdio".to_owned(), "--alone".to_owned(), "--config".to_owned(), config];
            return Self {
                target: Target::Stdio(Launch { command, args, env: Vec::new() }),
                serving: None,
                remote,
                log,
            };
        }
        let port = free_port();
        let said = fs::File::create(&log).expect("a log can be made");
        command.args(["serve", "--config", &config, "--listen", &format!("127.0.0.1:{port}")]);
        command.stdout(said.try_clone().expect("a handle can be doubled")).stderr(said);
        let child = command.spawn().expect("toolbay starts");
        let (flag, url) = match front {
            Front::Sse => ("--sse", format!("http://127.0.0.1:{port}/sse")),
            Front::WebSocket => ("--ws", format!("ws://127.0.0.1:{port}/ws")),
            Front::Http | Front::Stdio => ("--http", format!("http://127.0.0.1:{port}/mcp")),
        };
        let target = Target::At { flag, url };
        let mut hub = Self { target, serving: Some(child), remote, log };
        hub.await_listening(port);
        hub
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The end of what it wrote, for a failure's message.
    pub(super) fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn await_listening(&mut self, port: u16) {
        let listens = self.serving.as_mut().is_none_or(|child| await_listening(child, port));
        assert!(listens, "`toolbay serve` does not listen:\n{}", self.log_tail());
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(child) = &mut self.serving {
            // The polite signal, so that it can end its servers; std only knows the other one.
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            wait(child, STOP_LIMIT);
        }
        for child in &mut self.remote {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until a program listens; says whether it does.
pub(super) fn await_listening(child: &mut Child, port: u16) -> bool {
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let has_ended = child.try_wait().expect("a child can be asked").is_some();
        if has_ended || start.elapsed() > START_LIMIT {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
    true
}

/// Waits for the end, and makes one when the time is up.
pub(super) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(LOOK_EVERY);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
