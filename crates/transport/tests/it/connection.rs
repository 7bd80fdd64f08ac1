//! Both directions together.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex, empty},
    time::timeout,
};
use tokio_util::task::TaskTracker;
use toolbay_protocol::{Message, RequestId, Rope, request};
use toolbay_transport::{Connection, Incoming, Outgoing, memory, stdio};

/// Counts writes; `is_write_vectored` as a pipe has it.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<(usize, Vec<u8>)>>);

impl AsyncWrite for Counting {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut seen = self.0.lock().unwrap();
        seen.0 += 1;
        seen.1.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut seen = self.0.lock().unwrap();
        seen.0 += 1;
        // A short write in the middle of a piece is what pipes do.
        let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let count = all.len().min(50_000);
        seen.1.extend_from_slice(&all[..count]);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_end_in_memory_notices_that_the_other_is_gone() {
    let tasks = TaskTracker::new();
    let (mut left, right) = memory::pair(&tasks);
    right.outgoing.send(Outgoing::to_client(ping(1))).await.unwrap();
    left.incoming.recv().await.unwrap();
    drop(left);
    timeout(Duration::from_secs(5), right.outgoing.closed()).await.unwrap();
}

fn ping(id: u64) -> Rope {
    request(&RequestId::from(id), "ping", None).into()
}

/// A message in two pieces, `size` bytes and some.
fn large(size: usize) -> Rope {
    let pieces = [Bytes::from_static(b"{\"a\":\""), vec![b'x'; size].into(), Bytes::from_static(b"\"}")];
    Rope::from_pieces(pieces.into_iter().collect())
}

/// Sends all at once; how many writes it took, and what was written.
async fn written(texts: Vec<Rope>) -> (usize, Vec<u8>) {
    let tasks = TaskTracker::new();
    let counting = Counting::default();
    let wire = stdio::connect(empty(), counting.clone(), stdio::MAX_MESSAGE, &tasks);
    for text in texts {
        wire.outgoing.try_send(Outgoing::to_client(text)).unwrap(); // nothing runs in between: one thread, no await
    }
    drop(wire);
    tasks.close();
    tasks.wait().await;
    let seen = counting.0.lock().unwrap();
    (seen.0, seen.1.clone())
}

#[tokio::test]
async fn messages_share_writes_and_keep_their_order() {
    let expected = |texts: &[Rope]| -> Vec<u8> {
        texts.iter().flat_map(|text| [&text.clone().into_bytes()[..], b"\n"].concat()).collect()
    };
    let small: Vec<Rope> = (0..64).map(ping).collect();
    assert_eq!(written(small.clone()).await, (1, expected(&small)));
    let mixed = vec![ping(1), large(100_000), ping(2), large(20_000), large(20_000), ping(3)];
    let (writes, text) = written(mixed.clone()).await;
    assert_eq!(text, expected(&mixed));
    assert!(writes <= 6, "{writes} writes");
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_still_read() {
    let tasks = TaskTracker::new();
    let (ours, theirs) = duplex(4096);
    let (reader, writer) = tokio::io::split(ours);
    let mut wire = stdio::connect(reader, writer, stdio::MAX_MESSAGE, &tasks);
    while wire.outgoing.try_send(Outgoing::to_client(large(20_000))).is_ok() {
        tokio::task::yield_now().await;
    }
    let (mut their_reader, mut their_writer) = tokio::io::split(theirs);
    for id in 0..1000 {
        let line = [&ping(id).into_bytes()[..], b"\n"].concat();
        their_writer.write_all(&line).await.unwrap();
        let heard = timeout(Duration::from_secs(5), wire.incoming.recv()).await.unwrap().unwrap();
        assert!(
            matches!(heard, Incoming::Message(Message::Request(request)) if request.id == RequestId::from(id))
        );
    }
    // What was queued is still whole once the peer reads.
    drop(wire);
    let mut rest = Vec::new();
    their_reader.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() > Connection::QUEUE * 20_000 && rest.ends_with(b"\n"));
}

#[tokio::test]
async fn dropping_a_connection_ends_its_tasks() {
    let tasks = TaskTracker::new();
    let (left, right) = memory::pair(&tasks);
    let (ours, _theirs) = duplex(64);
    let (reader, writer) = tokio::io::split(ours);
    let wire = stdio::connect(reader, writer, 100, &tasks);
    drop((left, right, wire));
    tasks.close();
    timeout(Duration::from_secs(5), tasks.wait()).await.unwrap();
}

#[tokio::test]
async fn in_process_messages_are_judged_like_any_other() {
    let tasks = TaskTracker::new();
    let (left, mut right) = memory::pair(&tasks);
    for text in [ping(1), Rope::from("{bad".to_owned()), ping(2)] {
        left.outgoing.send(Outgoing::to_client(text)).await.unwrap();
    }
    assert!(matches!(right.incoming.recv().await, Some(Incoming::Message(_))));
    assert!(matches!(right.incoming.recv().await, Some(Incoming::Refused(_))));
    assert!(matches!(right.incoming.recv().await, Some(Incoming::Message(_))));
    drop(left);
    assert!(right.incoming.recv().await.is_none());
}
