//! The messages that were captured, within limits.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use tokio::time::Instant;
use toolbay_protocol::{RequestId, redact::KnownSecrets};

use super::{
    CapturedMessage, ConnectionId, Direction, Hop, LONGEST, MessageKind, PassingMessage, classify, short,
    short_id,
};

/// How much is kept.
const MAX_MESSAGES: usize = 10_000;
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_AGE: Duration = Duration::from_secs(10 * 60);
/// What a message takes besides its text, roughly.
const OVERHEAD: usize = 512;
/// Requests that wait for their responses; of those beyond, the responses come without method and duration.
const MAX_OPEN: usize = 10_000;

/// Invariant: without watchers the ring is empty and holds no memory.
#[derive(Debug, Default)]
pub(super) struct CaptureRing {
    pub(super) watchers: usize,
    known_secrets: KnownSecrets,
    ring: VecDeque<(Instant, CapturedMessage)>,
    bytes: usize,
    next: u64,
    open: HashMap<Key, OpenRequest>,
    /// Where the bytes of the open requests of clients are, which the hub's own requests come from.
    causes: HashMap<usize, Key>,
}

/// A request, and who sent it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    connection: ConnectionId,
    direction: Direction,
    id: RequestId,
}

/// A request without its response.
#[derive(Debug)]
struct OpenRequest {
    since: Instant,
    method: Option<Arc<str>>,
    client: Option<Arc<str>>,
    server: Option<Arc<str>>,
    paired_id: Option<RequestId>,
    /// Where its bytes are.
    cause: usize,
}

impl CaptureRing {
    /// Makes out what a message is, and to which others it belongs.
    pub(super) fn new(known_secrets: KnownSecrets) -> Self {
        Self { known_secrets, ..Self::default() }
    }

    pub(super) fn understand(&mut self, passing: &PassingMessage<'_>, now: Instant) -> CapturedMessage {
        let (kind, method, id) = classify(passing.text.clone());
        let name = |name: Option<&str>| name.map(|name| Arc::from(short(name)));
        let mut message = CapturedMessage {
            known_secrets: self.known_secrets.clone(),
            number: 0,
            time: SystemTime::now(),
            hop: passing.hop,
            direction: passing.direction,
            client: name(passing.client),
            server: name(passing.server),
            kind,
            method,
            id,
            paired_id: None,
            duration: None,
            size: passing.text.len(),
            text: Bytes::new(),
        };
        match kind {
            MessageKind::Request => self.opened(&mut message, passing, now),
            MessageKind::Result | MessageKind::Error => self.closed(&mut message, passing.connection, now),
            MessageKind::Notification | MessageKind::Malformed => {}
        }
        if self.watchers > 0 {
            // A copy: the bytes may be a small part of something large.
            message.text = Bytes::copy_from_slice(&passing.text[..passing.text.len().min(LONGEST)]);
        }
        message
    }

    fn opened(&mut self, message: &mut CapturedMessage, passing: &PassingMessage<'_>, now: Instant) {
        let Some(id) = message.id.clone() else { return };
        if let Some(cause) = passing.cause
            && let Some(key) = self.causes.get(&address(&cause.call.text))
            && key.id == cause.id
            && let Some(client) = self.open.get_mut(key)
        {
            client.paired_id = Some(id.clone());
            client.server = message.server.clone();
            message.paired_id = Some(key.id.clone());
            message.client = client.client.clone();
        } else if let Some(cause) = passing.cause {
            message.paired_id = short_id(Some(&cause.id));
        }
        if self.open.len() >= MAX_OPEN {
            self.open.retain(|_, open| now.duration_since(open.since) < MAX_AGE);
            let open = &self.open;
            self.causes.retain(|_, key| open.contains_key(key));
        }
        if self.open.len() >= MAX_OPEN {
            return;
        }
        let cause = address(&passing.text);
        let key = Key { connection: passing.connection, direction: passing.direction, id };
        if message.hop == Hop::Client {
            self.causes.insert(cause, key.clone());
        }
        let open = OpenRequest {
            since: now,
            method: message.method.clone(),
            client: message.client.clone(),
            server: message.server.clone(),
            paired_id: message.paired_id.clone(),
            cause,
        };
        self.open.insert(key, open);
    }

    fn closed(&mut self, message: &mut CapturedMessage, connection: ConnectionId, now: Instant) {
        let Some(id) = message.id.clone() else { return };
        let direction = match message.direction {
            Direction::Received => Direction::Sent,
            Direction::Sent => Direction::Received,
        };
        let key = Key { connection, direction, id };
        let Some(open) = self.open.remove(&key) else { return };
        if self.causes.get(&open.cause) == Some(&key) {
            self.causes.remove(&open.cause);
        }
        message.duration = Some(now.duration_since(open.since));
        message.method = open.method;
        message.paired_id = open.paired_id;
        message.client = message.client.take().or(open.client);
        message.server = message.server.take().or(open.server);
    }

    pub(super) fn push(&mut self, mut message: CapturedMessage, now: Instant) {
        message.number = self.next;
        self.next += 1;
        self.bytes += weight(&message);
        self.ring.push_back((now, message));
        while self.ring.len() > MAX_MESSAGES || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
        self.drop_old(now);
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn since(&mut self, since: u64, bytes: usize, now: Instant) -> Vec<CapturedMessage> {
        self.drop_old(now);
        let first = self.ring.partition_point(|(_, message)| message.number < since);
        let mut room = bytes;
        let fits = |message: &&(Instant, CapturedMessage)| {
            let has_room = room > 0;
            room = room.saturating_sub(weight(&message.1));
            has_room
        };
        self.ring.range(first..).take_while(fits).map(|(_, message)| message.clone()).collect()
    }

    /// Gives back everything but the count of messages.
    pub(super) fn forget(&mut self) {
        *self = Self { watchers: self.watchers, next: self.next, ..Self::default() };
    }

    fn drop_old(&mut self, now: Instant) {
        while self.ring.front().is_some_and(|(at, _)| now.duration_since(*at) > MAX_AGE) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, message)) = self.ring.pop_front() {
            self.bytes -= weight(&message);
        }
    }
}

fn weight(message: &CapturedMessage) -> usize {
    message.text.len() + OVERHEAD
}

fn address(text: &Bytes) -> usize {
    text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;

    fn pass(capture: &Capture, text: &str) {
        capture.record(PassingMessage {
            connection: capture.connection(),
            hop: Hop::Client,
            direction: Direction::Received,
            client: None,
            server: None,
            cause: None,
            text: Bytes::copy_from_slice(text.as_bytes()),
        });
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[test]
    fn nothing_is_kept_without_a_watcher() {
        let capture = Capture::default();
        pass(&capture, PING);
        assert!(!capture.is_on() && capture.shared.kept.lock().open.is_empty());
        let (first, second) = (capture.watch(), capture.watch());
        drop(first);
        pass(&capture, PING);
        assert_eq!(capture.since(0, usize::MAX).len(), 1);
        drop(second);
        let kept = capture.shared.kept.lock();
        assert_eq!((kept.ring.capacity(), kept.open.capacity(), kept.causes.capacity()), (0, 0, 0));
        drop(kept);
        let _again = capture.watch();
        assert!(capture.since(0, usize::MAX).is_empty());
        pass(&capture, PING);
        assert_eq!(capture.since(0, usize::MAX)[0].number, 1, "numbers are not used twice");
    }

    #[test]
    fn no_more_is_kept_than_fits() {
        let capture = Capture::default();
        let _watching = capture.watch();
        for _ in 0..MAX_MESSAGES + 5 {
            pass(&capture, PING);
        }
        let kept = capture.since(0, usize::MAX);
        assert_eq!((kept.len(), kept[0].number), (MAX_MESSAGES, 5));
        assert!(capture.shared.kept.lock().open.len() <= MAX_OPEN);
        assert_eq!(capture.since(7, 1).iter().map(|message| message.number).collect::<Vec<_>>(), [7]);

        let long = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":"{}"}}}}"#, "x".repeat(12 << 20));
        for _ in 0..5 {
            pass(&capture, &long);
        }
        let kept = capture.shared.kept.lock();
        assert!(
            kept.bytes <= MAX_BYTES
                && kept.ring.iter().map(|(_, it)| weight(it)).sum::<usize>() == kept.bytes
        );
        assert_eq!(kept.ring.len(), 3, "four are as long as all that fits, and take something besides");
        assert_eq!(kept.ring[0].1.size, long.len());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_for_longer_than_ten_minutes() {
        let capture = Capture::default();
        let _watching = capture.watch();
        pass(&capture, PING);
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        pass(&capture, PING);
        assert_eq!(capture.since(0, usize::MAX).len(), 2);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(capture.since(0, usize::MAX).len(), 1);
    }
}
