//! A bound in bytes on what waits for a client whose transport counts messages only.

use tokio::sync::mpsc;
use toolbay_protocol::Rope;

/// How many messages may wait to be passed on. Few: whoever sends more waits with them.
pub(crate) const AHEAD: usize = 4;

/// Passes texts on until either end is closed, so that no more than `room` bytes wait at the client, or one message.
pub(crate) async fn pass(mut texts: mpsc::Receiver<Rope>, client: mpsc::Sender<Rope>, room: usize) {
    let mut waiting = 0;
    loop {
        let text = tokio::select! {
            text = texts.recv() => text,
            () = client.closed() => None,
        };
        let Some(text) = text else { return };
        if client.capacity() == client.max_capacity() {
            waiting = 0;
        }
        waiting += text.len();
        if waiting > room {
            // Every slot is free once all that came before is on its way.
            if client.reserve_many(client.max_capacity()).await.is_err() {
                return;
            }
            waiting = text.len();
        }
        if client.send(text).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 100 texts of 1,000 bytes wait while nobody reads, and how many arrive in the end.
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
