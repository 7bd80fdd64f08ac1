//! HTTP/1.1 by hand, so that a client can also misbehave.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    /// What arrived of an event that has not ended yet.
    begun: Vec<u8>,
    /// When something was last sent.
    pub(super) written: Instant,
    /// Whether the head of a stream of events has been read.
    pub(super) is_streaming: bool,
}

/// The head of an answer.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) is_stream: bool,
    pub(super) session: Option<String>,
    length: Option<usize>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr, timeout: Duration) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Self {
            stream: BufReader::new(stream),
            begun: Vec::new(),
            written: Instant::now(),
            is_streaming: false,
        })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        self.written = Instant::now();
        Ok(self.stream.get_mut().write_all(text.as_bytes())?)
    }

    pub(super) fn head(&mut self) -> Result<Head> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no status line: {first:?}"))?;
        let mut head = Head { status, ..Head::default() };
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { return Ok(head) };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = Some(value.parse()?),
                "content-type" => head.is_stream = value.starts_with("text/event-stream"),
                "mcp-session-id" => head.session = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    /// The whole body.
    pub(super) fn body(&mut self, head: &Head) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        if let Some(length) = head.length {
            body.resize(length, 0);
            self.stream.read_exact(&mut body)?;
            return Ok(body);
        }
        if head.status == 202 || head.status == 204 {
            return Ok(body);
        }
        while self.chunk(&mut body)? {}
        Ok(body)
    }

    /// The next message of a stream of events; nothing at its end.
    pub(super) fn event(&mut self) -> Result<Option<String>> {
        loop {
            while let Some(end) = self.begun.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.begun.drain(..end + 2).collect();
                let event = String::from_utf8(event).context("an event is not UTF-8")?;
                if let Some(data) = data_of(&event).next() {
                    return Ok(Some(data));
                }
            }
            let mut begun = std::mem::take(&mut self.begun);
            let more = self.chunk(&mut begun);
            self.begun = begun;
            if !more? {
                return Ok(None);
            }
        }
    }

    /// The messages that come before nothing comes for `quiet`.
    pub(super) fn events_until_quiet(&mut self, quiet: Duration) -> Result<Vec<String>> {
        self.socket().set_read_timeout(Some(quiet))?;
        let mut messages = Vec::new();
        loop {
            match self.event() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => anyhow::bail!("the hub closed the stream after {messages:?}"),
                Err(error) if is_timeout(&error) => return Ok(messages),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads one chunk; says whether it was not the last.
    fn chunk(&mut self, body: &mut Vec<u8>) -> Result<bool> {
        let mark = self.line()?;
        let length = usize::from_str_radix(&mark, 16).with_context(|| format!("no chunk: {mark:?}"))?;
        let start = body.len();
        body.resize(start + length, 0);
        self.stream.read_exact(&mut body[start..])?;
        self.line()?;
        Ok(length > 0)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the hub closed the connection");
        Ok(line.trim_end().to_owned())
    }
}

/// The messages in the text of events; each is on one line.
pub(super) fn data_of(events: &str) -> impl Iterator<Item = String> {
    let data = events.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| data.trim().to_owned()).filter(|data| !data.is_empty())
}

fn is_timeout(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::WouldBlock)
}
