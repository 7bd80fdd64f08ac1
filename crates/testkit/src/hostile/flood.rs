//! More on stderr than anyone wants to read.

use std::io::Write;

use super::flags::Amount;

/// Writes lines of 100 bytes until the amount is reached or the reader is gone.
pub(super) fn stderr(amount: Amount) {
    let mut line = [b'e'; 100];
    line[99] = b'\n';
    let chunk = line.repeat(640);
    let mut left = match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Forever => u64::MAX,
    };
    let mut stderr = std::io::stderr().lock();
    while left > 0 {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if stderr.write_all(&chunk[..part]).is_err() {
            return;
        }
        left -= part as u64;
    }
}
