//! What waits for a client to read it: bounded in bytes, and only for as long as the client reads at all.
//!
//! A queue of messages bounds their number, but a message may be 16 MiB. Here the next message waits for room, and with
//! it the sender. A client that takes nothing for a while although so much waits is not slow but stuck, and is
//! given up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use toolbay_protocol::Rope;
use toolbay_transport::{Connection, Outgoing};

/// Longer messages are read in pieces of this length, so that one sees whether they are read.
const PIECE: usize = 256 * 1024;

/// How much may wait, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendLimits {
    /// Bytes that may wait; one longer message may wait alone.
    pub(crate) bytes: usize,
    /// How long a client may take nothing while there is no room.
    pub(crate) standstill: Duration,
}

/// How forwarding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardEnd {
    /// There are no more messages, or the reader is gone.
    Closed,
    /// The client stopped reading.
    Stuck,
}

/// The sending half.
#[derive(Debug)]
pub(crate) struct QueueSender {
    queue: mpsc::Sender<QueuedMessage>,
    room: Arc<Semaphore>,
    taken: Arc<AtomicU64>,
    limits: SendLimits,
}

/// The reading half.
#[derive(Debug)]
pub(crate) struct QueueReader {
    queue: mpsc::Receiver<QueuedMessage>,
    taken: Arc<AtomicU64>,
    /// The message that is being read, the next piece last, and its room.
    current: Vec<Bytes>,
    room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct QueuedMessage {
    text: Rope,
    room: OwnedSemaphorePermit,
}

pub(crate) fn channel(limits: SendLimits) -> (QueueSender, QueueReader) {
    let (sender, receiver) = mpsc::channel(Connection::QUEUE);
    let taken: Arc<AtomicU64> = Arc::default();
    // A semaphore counts no further than that, nor would anyone want it to.
    let room = limits.bytes.clamp(1, u32::MAX as usize);
    let limits = SendLimits { bytes: room, ..limits };
    (
        QueueSender { queue: sender, room: Arc::new(Semaphore::new(room)), taken: taken.clone(), limits },
        QueueReader { queue: receiver, taken, current: Vec::new(), room: None },
    )
}

impl QueueSender {
    /// Forwards messages until there are no more, the reader is gone, or it is stuck.
    pub(crate) async fn forward(self, mut outgoing: mpsc::Receiver<Outgoing>) -> ForwardEnd {
        loop {
            let next = tokio::select! {
                next = outgoing.recv() => next,
                () = self.queue.closed() => None,
            };
            let Some(text) = next.map(Outgoing::into_text) else { return ForwardEnd::Closed };
            let size = text.len().clamp(1, self.limits.bytes) as u32;
            tokio::select! {
                sent = self.send(text, size) => if !sent {
                    return ForwardEnd::Closed;
                },
                () = self.queue.closed() => return ForwardEnd::Closed,
                () = self.standstill() => return ForwardEnd::Stuck,
            }
        }
    }

    async fn send(&self, text: Rope, size: u32) -> bool {
        let Ok(room) = self.room.clone().acquire_many_owned(size).await else { return false };
        self.queue.send(QueuedMessage { text, room }).await.is_ok()
    }

    /// Ends when nothing was taken for too long.
    async fn standstill(&self) {
        loop {
            let before = self.taken.load(Relaxed);
            tokio::time::sleep(self.limits.standstill).await;
            if self.taken.load(Relaxed) == before {
                return;
            }
        }
    }
}

impl QueueReader {
    /// The next text, or the next piece of a long one; nothing when no more will come. Cancel safe.
    pub(crate) async fn next(&mut self, frame: impl FnOnce(Rope) -> Rope) -> Option<Rope> {
        if self.current.is_empty() {
            self.room = None; // what was handed out before is read
            let QueuedMessage { text, room } = self.queue.recv().await?;
            let text = frame(text);
            self.taken.fetch_add(1, Relaxed);
            self.room = Some(room);
            if text.len() <= PIECE {
                return Some(text);
            }
            self.current = text.into_pieces().collect();
            self.current.reverse();
        } else {
            self.taken.fetch_add(1, Relaxed);
        }
        let mut piece = self.current.pop()?;
        if piece.len() > PIECE {
            let head = piece.split_to(PIECE);
            self.current.push(piece);
            piece = head;
        }
        Some(piece.into())
    }
}

/// How many messages may wait to be passed on. Few: a sender of more waits.
pub(crate) const AHEAD: usize = 4;

/// Passes messages on until either end is closed, so that no more than `room` bytes or one message wait at a client whose
/// transport counts messages only.
pub(crate) async fn pass(
    mut outgoing: mpsc::Receiver<Outgoing>,
    client: mpsc::Sender<Outgoing>,
    room: usize,
) {
    let mut waiting = 0;
    loop {
        let next = tokio::select! {
            next = outgoing.recv() => next,
            () = client.closed() => None,
        };
        let Some(message) = next else { return };
        let length = message.text().len();
        if client.capacity() == client.max_capacity() {
            waiting = 0;
        }
        waiting += length;
        if waiting > room {
            // Every slot is free once all earlier messages are sent.
            if client.reserve_many(client.max_capacity()).await.is_err() {
                return;
            }
            waiting = length;
        }
        if client.send(message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 100 texts of 1,000 bytes wait without a reader, and how many arrive in the end.
    async fn waiting(room: usize) -> (usize, usize) {
        let (sender, texts) = mpsc::channel(AHEAD);
        let (client, mut queue) = mpsc::channel(256);
        let give = async move {
            for _ in 0..100 {
                sender.send("x".repeat(1000).into()).await.unwrap();
            }
        };
        let tasks = tokio_util::task::TaskTracker::new();
        tasks.spawn(give);
        tasks.spawn(pass(texts, client, room));
        let mut waited = 0;
        while tokio::time::timeout(std::time::Duration::from_secs(1), async {
            while queue.len() == waited {
                tokio::task::yield_now().await;
            }
        })
        .await
        .is_ok()
        {
            waited = queue.len();
        }
        let mut received = 0;
        while queue.recv().await.is_some() {
            received += 1;
        }
        (waited, received)
    }

    #[tokio::test]
    async fn no_more_waits_than_there_is_room_for_and_nothing_is_lost() {
        assert_eq!(waiting(10_000).await, (10, 100));
        assert_eq!(waiting(10).await, (1, 100));
    }
}
