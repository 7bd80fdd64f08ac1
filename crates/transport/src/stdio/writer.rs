//! The sending half: lines, joined into few writes.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use crate::Outgoing;

/// Messages up to this length are copied together; longer ones are written from where they are.
const COPY: usize = 32 * 1024;
/// How many messages may share a write.
const BATCH: usize = 64;

/// Writes what is queued until the queue or the stream ends.
pub(super) async fn run(mut stream: impl AsyncWrite + Unpin, mut texts: mpsc::Receiver<Outgoing>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut joined = BytesMut::new();
    while texts.recv_many(&mut batch, BATCH).await > 0 {
        if let Err(error) = write(&mut stream, &mut batch, &mut joined).await {
            tracing::debug!(%error, "writing ended");
            return;
        }
    }
    // The peer may be gone already, which is fine.
    let _ = stream.shutdown().await;
}

async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    batch: &mut Vec<Outgoing>,
    joined: &mut BytesMut,
) -> io::Result<()> {
    for text in batch.drain(..).map(Outgoing::into_text) {
        if text.len() <= COPY {
            for piece in text.pieces() {
                joined.extend_from_slice(piece);
            }
            joined.extend_from_slice(b"\n");
            if joined.len() < COPY {
                continue;
            }
            stream.write_all_buf(joined).await?;
        } else {
            stream.write_all_buf(joined).await?;
            let mut pieces = PendingWrites(text.into_pieces().chain([Bytes::from_static(b"\n")]).collect());
            pieces.0.reverse();
            stream.write_all_buf(&mut pieces).await?;
        }
        joined.clear();
    }
    stream.write_all_buf(joined).await?;
    joined.clear();
    stream.flush().await
}

/// Pieces still to be written, the next one last, so that they go out in one vectored write.
struct PendingWrites(Vec<Bytes>);

impl Buf for PendingWrites {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.last().map_or(&[], |piece| &piece[..])
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [io::IoSlice<'a>]) -> usize {
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(self.0.iter().rev()) {
            *slice = io::IoSlice::new(piece);
            count += 1;
        }
        count
    }

    fn advance(&mut self, mut count: usize) {
        while let Some(piece) = self.0.last_mut() {
            let step = count.min(piece.len());
            piece.advance(step);
            count -= step;
            if !piece.is_empty() {
                return;
            }
            self.0.pop();
        }
    }
}
