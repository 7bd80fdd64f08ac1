//! Lines of bounded length.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads lines. A longer one than allowed is an error: both ends are ours, so it is no mistake to recover from.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    stream: R,
    buffer: BytesMut,
    searched: usize,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(stream: R, limit: usize) -> Self {
        Self { stream, buffer: BytesMut::new(), searched: 0, limit }
    }

    /// The next line without its end; nothing when the stream ends. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let length = self.searched + found;
                self.searched = 0;
                let mut line = self.buffer.split_to(length + 1);
                line.truncate(length);
                return Ok(Some(line.freeze()));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
            }
            self.buffer.reserve(8 * 1024);
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}
