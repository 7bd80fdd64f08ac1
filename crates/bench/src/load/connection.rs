//! One keep-alive HTTP/1.1 connection, read by hand.

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Enough for the answers of MCP servers.
const MOST_HEADERS: usize = 64;
const READ_AT_LEAST: usize = 16 * 1024;

pub(super) struct Connection {
    authority: String,
    stream: Option<TcpStream>,
    /// Bytes read and not yet understood; `taken` of them already are.
    raw: Vec<u8>,
    taken: usize,
    /// The body of the answer so far, without chunk marks. Kept for its memory.
    body: Vec<u8>,
}

/// The head of an answer.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) sse: bool,
    pub(super) session: Option<String>,
    closes: bool,
    rest: Rest,
}

/// What is still to come of a body.
#[derive(Debug, Default, Clone, Copy)]
enum Rest {
    #[default]
    Done,
    Length(usize),
    /// At the mark of the next chunk; the first one has no line end before it.
    ChunkMark {
        first: bool,
    },
    Chunk(usize),
    UntilClose,
}

impl Connection {
    pub(super) fn new(authority: &str) -> Self {
        Self { authority: authority.to_owned(), stream: None, raw: Vec::new(), taken: 0, body: Vec::new() }
    }

    /// Sends a whole request and reads the head of its answer; the body is read with [`Self::more`].
    pub(super) async fn send(&mut self, request: &[u8]) -> anyhow::Result<Head> {
        self.raw.clear();
        self.taken = 0;
        self.body.clear();
        if self.stream.is_none() {
            let stream = TcpStream::connect(&self.authority).await.context("cannot connect")?;
            stream.set_nodelay(true)?;
            self.stream = Some(stream);
        }
        let result = self.exchange(request).await;
        if result.is_err() {
            self.stream = None;
        }
        result
    }

    async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Head> {
        self.stream.as_mut().context("not connected")?.write_all(request).await?;
        loop {
            match self.head()? {
                // 1xx only announces the real answer.
                Some(head) if head.status < 200 => {}
                Some(head) => return Ok(head),
                None => ensure!(self.fill(READ_AT_LEAST).await?, "closed before an answer"),
            }
        }
    }

    /// Reads a bit more of the body; false at its end. On an error the next request connects anew.
    pub(super) async fn more(&mut self, head: &mut Head) -> anyhow::Result<bool> {
        let result = self.advance(head).await;
        if result.is_err() || (matches!(result, Ok(false)) && head.closes) {
            self.stream = None;
        }
        result
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The bare connection, for a body that is not read to its end.
    pub(super) fn into_stream(self) -> Option<TcpStream> {
        self.stream
    }

    /// Forgets the connection, for a body that is not worth waiting for.
    pub(super) fn close(&mut self) {
        self.stream = None;
    }

    async fn advance(&mut self, head: &mut Head) -> anyhow::Result<bool> {
        loop {
            let before = self.body.len();
            self.decode(head)?;
            if self.body.len() > before {
                return Ok(true);
            }
            let wanted = match head.rest {
                Rest::Done => return Ok(false),
                Rest::Length(left) | Rest::Chunk(left) => left,
                Rest::ChunkMark { .. } | Rest::UntilClose => 0,
            };
            if !self.fill(wanted.max(READ_AT_LEAST)).await? {
                ensure!(matches!(head.rest, Rest::UntilClose), "closed within an answer");
                head.rest = Rest::Done;
            }
        }
    }

    /// Moves what was read from `raw` to `body`.
    fn decode(&mut self, head: &mut Head) -> anyhow::Result<()> {
        loop {
            let at_hand = &self.raw[self.taken..];
            match head.rest {
                Rest::Done => return Ok(()),
                Rest::UntilClose => {
                    self.body.extend_from_slice(at_hand);
                    self.taken = self.raw.len();
                    return Ok(());
                }
                Rest::Length(left) | Rest::Chunk(left) => {
                    let now = left.min(at_hand.len());
                    self.body.extend_from_slice(&at_hand[..now]);
                    self.taken += now;
                    let chunked = matches!(head.rest, Rest::Chunk(_));
                    head.rest = match (left - now, chunked) {
                        (0, false) => Rest::Done,
                        (0, true) => Rest::ChunkMark { first: false },
                        (left, false) => Rest::Length(left),
                        (left, true) => Rest::Chunk(left),
                    };
                    if left > now {
                        return Ok(());
                    }
                }
                Rest::ChunkMark { first } => {
                    let end = if first { 0 } else { 2 };
                    let Some(mark) = at_hand.get(end..) else { return Ok(()) };
                    match httparse::parse_chunk_size(mark).map_err(|_| anyhow::anyhow!("bad chunk"))? {
                        httparse::Status::Partial => return Ok(()),
                        httparse::Status::Complete((length, 0)) => {
                            // Trailers are not expected: the empty line must follow.
                            if mark.len() < length + 2 {
                                return Ok(());
                            }
                            self.taken += end + length + 2;
                            head.rest = Rest::Done;
                        }
                        httparse::Status::Complete((length, size)) => {
                            self.taken += end + length;
                            head.rest = Rest::Chunk(usize::try_from(size)?);
                        }
                    }
                }
            }
        }
    }

    fn head(&mut self) -> anyhow::Result<Option<Head>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(length) = response.parse(&self.raw[self.taken..])? else {
            return Ok(None);
        };
        let mut head =
            Head { status: response.code.context("no status")?, rest: Rest::UntilClose, ..Head::default() };
        for header in response.headers.iter() {
            let value = header.value;
            match header.name {
                name if name.eq_ignore_ascii_case("content-length") => {
                    head.rest = Rest::Length(std::str::from_utf8(value)?.parse()?);
                }
                name if name.eq_ignore_ascii_case("transfer-encoding") => {
                    if !value.eq_ignore_ascii_case(b"chunked") {
                        bail!("unknown transfer encoding");
                    }
                    head.rest = Rest::ChunkMark { first: true };
                }
                name if name.eq_ignore_ascii_case("content-type") => {
                    head.sse = value.starts_with(b"text/event-stream");
                }
                name if name.eq_ignore_ascii_case("mcp-session-id") => {
                    head.session = Some(std::str::from_utf8(value)?.to_owned());
                }
                name if name.eq_ignore_ascii_case("connection") => {
                    head.closes = value.eq_ignore_ascii_case(b"close");
                }
                _ => {}
            }
        }
        if matches!(head.status, 204 | 304) || matches!(head.rest, Rest::Length(0)) {
            head.rest = Rest::Done;
        }
        head.closes |= matches!(head.rest, Rest::UntilClose);
        self.taken += length;
        Ok(Some(head))
    }

    /// Reads once; false at the end of the stream.
    async fn fill(&mut self, wanted: usize) -> anyhow::Result<bool> {
        if self.taken == self.raw.len() {
            self.raw.clear();
            self.taken = 0;
        }
        self.raw.reserve(wanted);
        let stream = self.stream.as_mut().context("not connected")?;
        Ok(stream.read_buf(&mut self.raw).await? > 0)
    }
}
