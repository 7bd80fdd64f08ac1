//! Ways to a server on which messages simply follow one another, one whole text each.

mod sse;
mod web_socket;

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

use anyhow::{Result, ensure};

pub(super) use sse::SseLines;
pub(super) use web_socket::WebSocketLines;

use super::Pipe;

/// Sends and receives messages as texts.
pub trait Lines: Send {
    /// Sends a message, which must be one line.
    fn send(&mut self, text: &str) -> Result<()>;
    /// The next message, if it comes in time.
    fn line_within(&mut self, timeout: Duration) -> Result<String>;
}

impl Lines for Pipe {
    fn send(&mut self, text: &str) -> Result<()> {
        Pipe::send(self, text)
    }

    fn line_within(&mut self, timeout: Duration) -> Result<String> {
        Pipe::line_within(self, timeout)
    }
}

/// A socket with one message per line.
impl Lines for BufReader<UnixStream> {
    fn send(&mut self, text: &str) -> Result<()> {
        Ok(writeln!(self.get_mut(), "{text}")?)
    }

    fn line_within(&mut self, timeout: Duration) -> Result<String> {
        self.get_ref().set_read_timeout(Some(timeout))?;
        let mut line = String::new();
        ensure!(self.read_line(&mut line)? > 0, "the hub closed the socket");
        Ok(line)
    }
}
