//! The echo server on stdin and stdout.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::answer::{Outcome, answer};

/// Answers that wait for each other at most this long, in bytes, before they are written.
const WRITE_AT: usize = 64 * 1024;

/// Serves until the input ends.
///
/// It blocks on purpose: while it writes it does not read, as many a real server does, so a proxy that will not read
/// before its own write is done comes to a stop here.
pub fn serve(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(256 * 1024, input);
    let mut line = Vec::new();
    let mut out = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return output.write_all(&out);
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if answer(&line, &mut out) != Outcome::Silent {
            out.push(b'\n');
        }
        // More whole messages at hand? Then their answers leave together with this one.
        if out.len() >= WRITE_AT || !input.buffer().contains(&b'\n') {
            output.write_all(&out)?;
            output.flush()?;
            out.clear();
        }
    }
}
