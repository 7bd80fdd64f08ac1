//! Lines of bounded length from a pipe.

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// Reads lines, and remembers what it has of the next one.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    pipe: R,
    buffer: Vec<u8>,
    /// How much of the buffer was looked through without finding the end of a line.
    scanned: usize,
    /// How much of the buffer is the line that was returned last.
    taken: usize,
    max_line: usize,
}

/// Why there is no next line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// The other end was closed.
    Ended,
    /// It is too long.
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(pipe: R, max_line: usize) -> Self {
        Self { pipe, buffer: Vec::new(), scanned: 0, taken: 0, max_line }
    }

    /// The next line, without its end. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<&[u8], NoLine> {
        self.buffer.drain(..std::mem::take(&mut self.taken));
        let end = loop {
            if let Some(found) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') {
                break self.scanned + found;
            }
            self.scanned = self.buffer.len();
            if self.scanned > self.max_line {
                return Err(NoLine::TooLong);
            }
            self.buffer.reserve(CHUNK);
            match self.pipe.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Err(NoLine::Ended),
            }
        };
        (self.taken, self.scanned) = (end + 1, 0);
        Ok(&self.buffer[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_none_is_too_long() {
        let mut reader = LineReader::new(&b"one\n\ntwo\nrest"[..], 10);
        assert_eq!(reader.next().await, Ok(&b"one"[..]));
        assert_eq!(reader.next().await, Ok(&b""[..]));
        assert_eq!(reader.next().await, Ok(&b"two"[..]));
        assert_eq!(reader.next().await, Err(NoLine::Ended));
        let long = [b'x'; 100];
        assert_eq!(LineReader::new(&long[..], 10).next().await, Err(NoLine::TooLong));
    }
}
