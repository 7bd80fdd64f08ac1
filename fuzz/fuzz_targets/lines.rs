//! One stream, cut in two ways.
#![no_main]

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, ReadBuf};
use toolbay_transport::{Incoming, stdio::LineReader};

struct Pieces<'a>(&'a [u8], usize);

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.0.len().min(self.1).min(buffer.remaining());
        let (now, later) = self.0.split_at(count);
        buffer.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

fn read(stream: &[u8], piece: usize) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut lines = LineReader::new(Pieces(stream, piece), 256);
        let mut seen = Vec::new();
        while let Some(incoming) = lines.next().await.unwrap() {
            seen.push(match incoming {
                Incoming::Message(message) => format!("{:?}", message.text()),
                Incoming::Refused(refusal) => format!("{:?} {:?}", refusal.why, refusal.id),
            });
        }
        seen
    })
}

fuzz_target!(|stream: &[u8]| {
    // A line beyond all hope ends the stream wherever that is noticed.
    if stream.split(|&byte| byte == b'\n').any(|line| line.len() > 1024) {
        return;
    }
    let Some((&piece, stream)) = stream.split_first() else { return };
    assert_eq!(read(stream, usize::from(piece) + 1), read(stream, usize::MAX));
});
