//! Reading a server's stderr, for ever and at any speed, so that it never blocks on us.

use std::sync::Arc;

use tokio::{io::AsyncReadExt, net::unix::pipe};

use crate::log_ring::{LogRing, LogSource};

/// As much as a pipe holds.
const CHUNK: usize = 64 << 10;

/// Reads until the last writer is gone.
pub(crate) async fn drain(mut stderr: pipe::Receiver, ring: Arc<LogRing>) {
    let mut chunk = vec![0; CHUNK];
    let mut lines = LineSplitter::default();
    // An error of a pipe is as final as its end.
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let chunk = &chunk[..length];
        if ring.admits(length) {
            lines.feed(chunk, |line| ring.push_admitted(LogSource::Stderr, line));
        } else {
            lines.skip(chunk);
        }
    }
    ring.settle_now();
    lines.finish(|line| ring.push_admitted(LogSource::Stderr, line));
}

/// Splits bytes into lines.
///
/// Invariant: holds at most [`LogRing::MAX_LINE`] bytes, however long a line is.
#[derive(Default)]
struct LineSplitter {
    partial: Vec<u8>,
    /// The last whole line of a flood that was skipped: it may be the one that says why the server died.
    sample: Option<Vec<u8>>,
}

impl LineSplitter {
    fn feed(&mut self, bytes: &[u8], mut emit: impl FnMut(&str)) {
        if let Some(sample) = self.sample.take() {
            emit_line(&sample, &mut emit);
        }
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) if self.partial.is_empty() => emit_line(end, &mut emit),
                Some(end) => {
                    self.extend(end);
                    emit_line(&self.partial, &mut emit);
                    self.partial.clear();
                }
                None => self.extend(piece),
            }
        }
    }

    /// Passes over `bytes`, looking only at their end, which costs the same however many they are.
    fn skip(&mut self, bytes: &[u8]) {
        let end = &bytes[bytes.len().saturating_sub(LogRing::MAX_LINE)..];
        let mut parts = end.rsplitn(3, |&byte| byte == b'\n');
        let Some(rest) = parts.next() else { return };
        if let Some(line) = parts.next() {
            self.sample = Some(line.to_owned());
            self.partial.clear();
        }
        self.extend(rest);
    }

    fn finish(mut self, mut emit: impl FnMut(&str)) {
        self.feed(&[], &mut emit);
        if !self.partial.is_empty() {
            emit_line(&self.partial, &mut emit);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        // One byte more than fits, so that the ring sees that the line is too long.
        let room = (LogRing::MAX_LINE + 1).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn emit_line(line: &[u8], emit: &mut impl FnMut(&str)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = &line[..line.len().min(LogRing::MAX_LINE + 1)];
    emit(&String::from_utf8_lossy(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut lines = LineSplitter::default();
        for piece in pieces {
            lines.feed(piece, |line| all.push(line.to_owned()));
        }
        lines.finish(|line| all.push(line.to_owned()));
        all
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        assert_eq!(split(&[b"one\ntw", b"o\r\n\nthr", "\u{e4}".as_bytes()]), ["one", "two", "", "thr\u{e4}"]);
        assert_eq!(split(&[b"\xc3", b"\xa4\n", b"\xff!"]), ["\u{e4}", "\u{fffd}!"]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn an_endless_line_holds_little_memory() {
        let mut lines = LineSplitter::default();
        for _ in 0..100 {
            lines.feed(&[b'x'; CHUNK], |_| panic!("there is no line"));
        }
        assert_eq!(lines.partial.len(), LogRing::MAX_LINE + 1);
    }

    #[test]
    fn the_last_line_of_a_skipped_flood_is_kept() {
        let mut lines = LineSplitter::default();
        let mut all = Vec::new();
        lines.feed(b"first\npart", |line| all.push(line.to_owned()));
        lines.skip(b"ial\nnoise\nnoise\nfatal: no disk\nby");
        lines.skip(b"e");
        lines.finish(|line| all.push(line.to_owned()));
        assert_eq!(all, ["first", "fatal: no disk", "bye"]);
    }
}
