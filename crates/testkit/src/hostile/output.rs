//! Stdout, as bytes.

use std::io::{self, Write};

const GARBAGE: &[u8] = b"*** Hostile Server v1.0 ***\n\x1b[32mready\x1b[0m\n[]\n42\n{bad\n\n   \n\r\n";

/// Where answers go. One message at a time, whatever it is made of.
#[derive(Debug)]
pub(super) struct Output {
    garbage: bool,
}

impl Output {
    pub(super) fn new(garbage: bool) -> Self {
        Self { garbage }
    }

    /// Writes one line.
    pub(super) fn line(&self, text: &str) {
        self.pieces(&[text.as_bytes(), b"\n"], || ());
    }

    /// Writes and flushes each piece alone, with `between` in between; nothing else writes meanwhile.
    ///
    /// A reader that is gone is ignored: the parent that closed the pipe stops this process.
    pub(super) fn pieces(&self, pieces: &[&[u8]], between: impl Fn()) {
        let mut stdout = io::stdout().lock();
        if self.garbage {
            let _ = stdout.write_all(GARBAGE);
        }
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                between();
            }
            if stdout.write_all(piece).and_then(|()| stdout.flush()).is_err() {
                return;
            }
        }
    }

    /// Writes a line of `head`, `fill` bytes of padding and `tail`, without holding it in memory; with no tail, the
    /// line never ends.
    pub(super) fn padded(&self, head: &str, fill: usize, tail: Option<&str>) {
        static CHUNK: [u8; 64 * 1024] = [b'x'; 64 * 1024];
        let mut stdout = io::stdout().lock();
        let mut left = if tail.is_some() { fill } else { usize::MAX };
        let mut written = stdout.write_all(head.as_bytes());
        while left > 0 && written.is_ok() {
            let part = left.min(CHUNK.len());
            written = stdout.write_all(&CHUNK[..part]);
            left -= part;
        }
        if let (Ok(()), Some(tail)) = (written, tail) {
            let _ = stdout.write_all(tail.as_bytes());
            let _ = stdout.write_all(b"\n");
            let _ = stdout.flush();
        }
    }

    /// Closes the pipe; later writes go nowhere.
    pub(super) fn close(&self) {
        let stdout = io::stdout().lock();
        let opened = std::fs::OpenOptions::new().write(true).open("/dev/null");
        let closed = opened.and_then(|null| Ok(rustix::stdio::dup2_stdout(null)?));
        if let Err(error) = closed {
            eprintln!("hostile: cannot close stdout: {error}");
        }
        drop(stdout);
    }
}
