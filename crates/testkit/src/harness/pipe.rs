//! A server on stdin and stdout, spoken to in raw lines.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use super::TIMEOUT;

/// A program that speaks MCP on its pipes; killed when dropped.
#[derive(Debug)]
pub struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl Pipe {
    /// Runs a program, which is to be a server.
    pub fn run(program: &Path, arguments: &[&str]) -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "a test server; killed on drop")]
        let mut command = Command::new(program);
        command.args(arguments);
        Self::start(command)
    }

    /// As [`Pipe::run`], with everything that a command can say.
    pub fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("the server does not start")?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = BufReader::new(stdout.context("it was piped")?);
        let (sender, lines) = mpsc::sync_channel(64);
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, stdin: Some(stdin.context("it was piped")?), lines })
    }

    /// Sends a message, which must be one line.
    pub fn send(&mut self, text: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("its input was closed")?;
        Ok(writeln!(stdin, "{text}")?)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends its input and waits until it has ended, or kills it where it does not.
    pub fn close(&mut self) {
        self.stdin = None;
        let ended = super::wait_until("it ends", || Ok(self.child.try_wait()?));
        if ended.is_err() {
            let _ = self.child.kill();
        }
    }

    /// Kills it and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The next line.
    pub fn line(&self) -> Result<String> {
        self.line_within(TIMEOUT)
    }

    /// The next line, if it comes in time.
    pub fn line_within(&self, timeout: Duration) -> Result<String> {
        self.lines.recv_timeout(timeout).context("no line in time")
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.kill();
    }
}
