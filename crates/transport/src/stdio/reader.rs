//! Lines of bounded length.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};
use toolbay_protocol::{IdRecovery, ParseError};

use crate::connection::{Incoming, RejectedMessage};

/// How long a message may be unless configured otherwise.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// A line that reaches this many times the limit is no mistake any more: the stream ends.
const HOPELESS: usize = 8;
const CHUNK: usize = 16 * 1024;

/// Reads messages, one per line, from a byte stream.
///
/// Invariant: the buffer never holds, nor has room for, more than the limit plus one chunk. A longer line fails alone;
/// reading goes on behind its newline.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: R,
    buffer: BytesMut,
    /// How far the buffer was searched for a newline.
    searched: usize,
    limit: usize,
    /// A line that is being thrown away for its length.
    discarding: Option<Discard>,
    ended: bool,
}

#[derive(Debug)]
struct Discard {
    id: IdRecovery,
    excerpt: Vec<u8>,
    length: usize,
}

impl Discard {
    fn start(head: &[u8]) -> Self {
        let mut id = IdRecovery::default();
        id.feed(head);
        Self { id, excerpt: head[..RejectedMessage::EXCERPT.min(head.len())].to_vec(), length: head.len() }
    }
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `limit` bytes.
    pub fn new(stream: R, limit: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), searched: 0, limit, discarding: None, ended: false }
    }

    /// The next message or refusal; nothing at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            if let Some(incoming) = self.take_line() {
                return Ok(Some(incoming));
            }
            if self.ended {
                return Ok(self.take_remaining());
            }
            if self.discarding.as_ref().is_some_and(|line| line.length > self.limit.saturating_mul(HOPELESS))
            {
                self.ended = true;
                return Ok(self.discarding.take().map(|line| self.refuse_long(line)));
            }
            self.reserve();
            self.ended = self.stream.read_buf(&mut self.buffer).await? == 0;
        }
    }

    /// Makes room for the next read: twice what is there, but no more than a line may need.
    fn reserve(&mut self) {
        let length = self.buffer.len();
        let has_room = self.buffer.capacity() - length >= CHUNK / 4;
        if has_room || (length < CHUNK && self.buffer.try_reclaim(CHUNK)) {
            return;
        }
        let capacity = (2 * length + CHUNK).min(self.limit.saturating_add(CHUNK));
        let mut larger = BytesMut::with_capacity(capacity);
        larger.extend_from_slice(&self.buffer);
        self.buffer = larger;
    }

    /// The next complete line of the buffer that says anything.
    fn take_line(&mut self) -> Option<Incoming> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                self.discard_overlong();
                return None;
            };
            let length = self.searched + found;
            self.searched = 0;
            if let Some(mut line) = self.discarding.take() {
                line.id.feed(&self.buffer[..length]);
                self.buffer.advance(length + 1);
                return Some(self.refuse_long(line));
            }
            let mut line = self.buffer.split_to(length + 1);
            line.truncate(length);
            if self.buffer.len() < CHUNK && length > CHUNK {
                self.buffer = BytesMut::from(&*self.buffer); // gives back what the line had grown it to
            }
            if length > self.limit {
                return Some(self.refuse_long(Discard::start(&line)));
            }
            if let Some(incoming) = read_line(line) {
                return Some(incoming);
            }
        }
    }

    /// What stands behind the last newline when the stream ends.
    fn take_remaining(&mut self) -> Option<Incoming> {
        if let Some(line) = self.discarding.take() {
            self.buffer.clear();
            return Some(self.refuse_long(line));
        }
        self.searched = 0;
        read_line(self.buffer.split())
    }

    fn discard_overlong(&mut self) {
        if let Some(line) = &mut self.discarding {
            line.length += self.buffer.len();
            line.id.feed(&self.buffer);
        } else if self.buffer.len() > self.limit {
            self.discarding = Some(Discard::start(&self.buffer));
            self.buffer = BytesMut::new(); // gives back what the line had grown it to
        } else {
            return;
        }
        self.buffer.clear();
        self.searched = 0;
    }

    fn refuse_long(&self, line: Discard) -> Incoming {
        let why = ParseError::TooLong { limit: self.limit };
        Incoming::Refused(RejectedMessage::new(why, line.id.into_id(), &line.excerpt))
    }
}

/// One line as what it is; blank lines are nothing.
fn read_line(mut line: BytesMut) -> Option<Incoming> {
    if line.ends_with(b"\r") {
        line.truncate(line.len() - 1);
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    Some(Incoming::read(line.freeze()))
}
