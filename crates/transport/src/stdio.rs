//! One message per line over a pair of byte streams.

mod reader;
mod writer;

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};
use tokio_util::task::TaskTracker;

pub use reader::{LineReader, MAX_MESSAGE};

use crate::{Connection, connection::Incoming};

/// Frames a pair of byte streams as messages, one per line.
///
/// Reading and writing are separate tasks, so that a peer that does not read never stops us from reading. Dropping
/// the connection ends both and with them the streams.
pub fn connect(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    max_message: usize,
    tasks: &TaskTracker,
) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    tasks.spawn(writer::run(writer, texts));
    tasks.spawn(read(LineReader::new(reader, max_message), messages));
    Connection { outgoing, incoming }
}

async fn read<R: AsyncRead + Unpin>(mut lines: LineReader<R>, messages: mpsc::Sender<Incoming>) {
    loop {
        let next = tokio::select! {
            biased; // what is read already needs no look at the other end
            next = lines.next() => next,
            () = messages.closed() => return,
        };
        match next {
            Ok(Some(incoming)) => {
                if messages.send(incoming).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "reading ended");
                return;
            }
        }
    }
}
