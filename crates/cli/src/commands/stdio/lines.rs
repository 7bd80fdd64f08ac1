//! Bytes that are forwarded line by line.

use std::{collections::VecDeque, io};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How many bytes are read at once.
const CHUNK: usize = 32 * 1024;

/// Input that is not forwarded yet.
#[derive(Debug)]
pub(super) struct Input {
    buffer: BytesMut,
    /// How far the buffer was searched for a newline.
    searched: usize,
    /// The longest line that is looked at.
    limit: usize,
    /// Whether the rest of a longer line is being handed on as it comes.
    is_passing: bool,
    pub(super) has_ended: bool,
}

/// A part of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinePiece {
    /// One or more lines, each with its newline.
    Lines(Bytes),
    /// Part of a line that is too long to be looked at.
    Part(Bytes),
}

impl Input {
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, is_passing: false, has_ended: false }
    }

    /// Reads some more. Cancel safe.
    pub(super) async fn read(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        self.buffer.reserve(CHUNK);
        self.has_ended = from.read_buf(&mut self.buffer).await? == 0;
        Ok(())
    }

    /// Whether part of a line was handed on, and the rest was not.
    pub(super) fn is_within_line(&self) -> bool {
        self.is_passing
    }

    /// Whether everything that was read is handed on.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// All complete lines.
    pub(super) fn take(&mut self) -> Option<LinePiece> {
        if self.is_passing {
            if self.buffer.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', &self.buffer);
            self.is_passing = end.is_none();
            let length = end.map_or(self.buffer.len(), |end| end + 1);
            return Some(LinePiece::Part(self.split(length)));
        }
        match memchr::memrchr(b'\n', &self.buffer[self.searched..]) {
            Some(end) => {
                let length = self.searched + end + 1;
                Some(LinePiece::Lines(self.split(length)))
            }
            // A last line without its end is one all the same.
            None if self.has_ended && !self.buffer.is_empty() => {
                self.buffer.extend_from_slice(b"\n");
                Some(LinePiece::Lines(self.split(self.buffer.len())))
            }
            None if self.buffer.len() > self.limit => {
                self.is_passing = true;
                Some(LinePiece::Part(self.split(self.buffer.len())))
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }

    /// Whether [`Input::take`] would give something that waits for a hub.
    pub(super) fn has_line(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer).is_some()
    }

    /// Puts lines back that were taken.
    pub(super) fn put_back(&mut self, mut lines: BytesMut) {
        if !lines.is_empty() {
            lines.extend_from_slice(&self.buffer);
            self.buffer = lines;
            self.searched = 0;
        }
    }

    fn split(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        self.buffer.split_to(length).freeze()
    }
}

/// Lines without their newlines.
pub(super) fn each(lines: &Bytes) -> impl Iterator<Item = Bytes> {
    let mut rest = lines.clone();
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', &rest)?;
        let line = rest.split_to(end);
        rest.advance(1);
        Some(line)
    })
}

/// Bytes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Output {
    pieces: VecDeque<Outgoing>,
    /// How much of the first piece is written.
    written: usize,
    length: usize,
    /// The last line that was written, if it was not one of ours.
    last: Option<Bytes>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The other side closed it; whether it had read everything is not known.
    Closed,
    /// The other side closed it and had not read everything. So the last byte, and with it the last line, was not read.
    Reset,
}

#[derive(Debug)]
struct Outgoing {
    bytes: Bytes,
    /// Whether these are lines that another hub may get instead.
    are_lines: bool,
}

impl Output {
    /// Adds whole lines.
    pub(super) fn add_lines(&mut self, lines: Bytes) {
        self.push(lines, true);
    }

    /// Adds bytes as they are.
    pub(super) fn add(&mut self, bytes: Bytes) {
        self.push(bytes, false);
    }

    /// Adds a line of our own, which has no newline yet.
    pub(super) fn add_line(&mut self, line: &[u8]) {
        let mut whole = BytesMut::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.extend_from_slice(b"\n");
        self.push(whole.freeze(), false);
    }

    fn push(&mut self, bytes: Bytes, are_lines: bool) {
        if !bytes.is_empty() {
            self.length += bytes.len();
            self.pieces.push_back(Outgoing { bytes, are_lines });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Empties it, and returns the lines that the other side cannot have read completely.
    pub(super) fn take_unread(&mut self, ending: Ending) -> BytesMut {
        let mut unsent = BytesMut::new();
        let last = self.last.take().filter(|_| ending == Ending::Reset && self.written == 0);
        unsent.extend_from_slice(&last.unwrap_or_default());
        let written = std::mem::take(&mut self.written);
        for (index, piece) in std::mem::take(self).pieces.into_iter().enumerate() {
            let written = if index == 0 { written } else { 0 };
            if piece.are_lines {
                let from = memchr::memrchr(b'\n', &piece.bytes[..written]).map_or(0, |end| end + 1);
                unsent.extend_from_slice(&piece.bytes[from..]);
            }
        }
        unsent
    }

    /// Writes some of it. Cancel safe. Must not be called when there is nothing.
    pub(super) async fn write(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let Some(head) = self.pieces.front() else { return Ok(()) };
        let count = to.write(&head.bytes[self.written..]).await?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += count;
        self.length -= count;
        if self.written == head.bytes.len() {
            let lines = &head.bytes[..head.bytes.len() - 1];
            let last = memchr::memrchr(b'\n', lines).map_or(0, |end| end + 1);
            self.last = head.are_lines.then(|| head.bytes.slice(last..));
            self.pieces.pop_front();
            self.written = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a stream that arrives in these parts.
    async fn pieces(limit: usize, parts: &[&str]) -> Vec<LinePiece> {
        let mut input = Input::new(limit);
        let mut taken = Vec::new();
        for part in parts.iter().chain([&""]) {
            input.read(&mut part.as_bytes()).await.unwrap();
            while let Some(piece) = input.take() {
                taken.push(piece);
            }
        }
        taken
    }

    #[tokio::test]
    async fn lines_come_whole_and_what_is_too_long_comes_in_parts() {
        let lines = |text: &'static str| LinePiece::Lines(text.into());
        let part = |text: &'static str| LinePiece::Part(text.into());
        assert_eq!(pieces(100, &["a\nb\nc", "d\n"]).await, [lines("a\nb\n"), lines("cd\n")]);
        assert_eq!(pieces(100, &["a"]).await, [lines("a\n")]);
        let long = pieces(4, &["a\nbcdefg", "hi", "j\nk\n"]).await;
        assert_eq!(long, [lines("a\n"), part("bcdefg"), part("hi"), part("j\n"), lines("k\n")]);
        let each: Vec<Bytes> = each(&"a\n\nb\n".into()).collect();
        assert_eq!(each, ["a", "", "b"]);
    }

    #[tokio::test]
    async fn a_line_counts_as_unsent_until_its_end_is_written() {
        let mut output = Output::default();
        output.add_line(b"ours");
        output.add_lines("a\nbc\nd\n".into());
        output.add("part".into());
        output.add_lines("e\n".into());
        // A pipe that takes three bytes of the second piece.
        let (mut near, _far) = tokio::io::duplex(8);
        output.write(&mut near).await.unwrap();
        output.write(&mut near).await.unwrap();
        assert_eq!(&output.take_unread(Ending::Reset)[..], b"bc\nd\ne\n");
        assert!(output.is_empty() && output.take_unread(Ending::Reset).is_empty());
    }

    #[tokio::test]
    async fn of_what_was_written_only_the_last_line_is_certainly_unread() {
        for (ending, unread) in [(Ending::Closed, "c\n"), (Ending::Reset, "b\nc\n")] {
            let mut output = Output::default();
            output.add_lines("a\nb\n".into());
            output.write(&mut tokio::io::sink()).await.unwrap();
            output.add_lines("c\n".into());
            assert_eq!(&output.take_unread(ending)[..], unread.as_bytes());
        }
        let mut output = Output::default();
        output.add_lines("a\n".into());
        output.add_line(b"ours");
        output.write(&mut tokio::io::sink()).await.unwrap();
        output.write(&mut tokio::io::sink()).await.unwrap();
        assert!(output.take_unread(Ending::Reset).is_empty());
    }
}
