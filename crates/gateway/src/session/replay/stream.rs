//! The events of one stream, numbered and kept for a while.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use toolbay_protocol::Rope;
use toolbay_transport::http::{numbered_event, priming_event};

/// How long a stream waits for its client to resume it.
const RETURN_TIME: Duration = Duration::from_secs(60);
/// How long one that was read to its end is kept: what was sent may not have arrived.
const READ_TIME: Duration = Duration::from_secs(10);
/// How soon a client should reconnect.
const RETRY: Duration = Duration::from_secs(1);
/// How much is kept. A client that is too far behind misses steps, not the end.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How much all streams of a session may keep before each keeps its last event only.
const MAX_SESSION_BYTES: usize = 32 * 1024 * 1024;

/// One stream.
#[derive(Debug)]
pub(super) struct ReplayStream {
    number: u64,
    is_changes: bool,
    kept: Mutex<StoredEvents>,
    /// What all streams of its session keep.
    session_bytes: Arc<AtomicUsize>,
    /// Says that something below changed.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct StoredEvents {
    /// Events as they are sent; the last one has the number `last`, and they are numbered without gaps.
    events: VecDeque<Rope>,
    bytes: usize,
    last: u64,
    has_ended: bool,
    /// When all of it was read, to the end.
    was_read: Option<Instant>,
    /// It cannot be resumed any more.
    is_forgotten: bool,
    /// Which reader is the newest; the others have been replaced.
    reader: u64,
    /// Since when it has no reader.
    left: Option<Instant>,
}

/// What a reader finds.
pub(super) enum ReadOutcome {
    Event(u64, Rope),
    Nothing,
    End,
}

impl ReplayStream {
    pub(super) fn new(number: u64, is_changes: bool, session_bytes: Arc<AtomicUsize>) -> Self {
        let changed = watch::Sender::new(());
        Self { number, is_changes, kept: Mutex::default(), session_bytes, changed }
    }

    pub(super) fn is_changes(&self) -> bool {
        self.is_changes
    }

    /// Adds a message.
    pub(super) fn push(&self, message: Rope) {
        self.add(|id| numbered_event(id, message));
    }

    /// Adds an event without a message, so that a client has an id to resume from before the first message.
    pub(super) fn prime(&self) {
        self.add(|id| priming_event(id, RETRY));
    }

    fn add(&self, text: impl FnOnce(&str) -> Rope) {
        let mut kept = self.kept.lock();
        kept.last += 1;
        let text = text(&id(self.number, kept.last, self.is_changes));
        kept.bytes += text.len();
        let mut in_session = self.session_bytes.fetch_add(text.len(), Relaxed) + text.len();
        kept.events.push_back(text);
        let is_too_much = |kept: &StoredEvents, in_session: usize| {
            kept.events.len() > MAX_EVENTS || kept.bytes > MAX_BYTES || in_session > MAX_SESSION_BYTES
        };
        while kept.events.len() > 1 && is_too_much(&kept, in_session) {
            let length = kept.events.pop_front().map_or(0, |event| event.len());
            kept.bytes -= length;
            in_session = self.session_bytes.fetch_sub(length, Relaxed) - length;
        }
        drop(kept);
        self.changed.send_replace(());
    }

    /// Nothing follows.
    pub(super) fn end(&self) {
        self.kept.lock().has_ended = true;
        self.changed.send_replace(());
    }

    /// A new reader, in the place of all others: its number, and what tells it of changes.
    pub(super) fn attach(&self) -> (u64, watch::Receiver<()>) {
        let mut kept = self.kept.lock();
        kept.reader += 1;
        kept.left = None;
        let reader = kept.reader;
        drop(kept);
        self.changed.send_replace(()); // the reader before should know
        (reader, self.changed.subscribe())
    }

    /// A reader is gone.
    pub(super) fn detach(&self, reader: u64) {
        let mut kept = self.kept.lock();
        if kept.reader == reader {
            kept.left = Some(Instant::now());
            drop(kept);
            self.changed.send_replace(());
        }
    }

    /// What a reader that has seen everything up to the event `seen` finds next.
    pub(super) fn after(&self, reader: u64, seen: u64) -> ReadOutcome {
        let mut kept = self.kept.lock();
        if kept.reader != reader {
            return ReadOutcome::End;
        }
        if seen < kept.last {
            let first = kept.last + 1 - kept.events.len() as u64;
            let next = first.max(seen + 1);
            if let Some(event) = kept.events.get((next - first) as usize) {
                return ReadOutcome::Event(next, event.clone());
            }
        }
        if kept.has_ended {
            kept.was_read = Some(Instant::now());
            drop(kept);
            self.changed.send_replace(());
            return ReadOutcome::End;
        }
        ReadOutcome::Nothing
    }

    /// Whether all of it was read, and how much that is.
    pub(super) fn read(&self) -> (bool, usize) {
        let kept = self.kept.lock();
        (kept.was_read.is_some(), kept.bytes)
    }

    /// Keeps it no longer.
    pub(super) fn forget(&self) {
        let mut kept = self.kept.lock();
        kept.is_forgotten = true;
        drop(kept);
        self.changed.send_replace(());
    }

    /// Waits until it has had no reader for too long.
    pub(super) async fn abandoned(&self) {
        self.until(|_| false).await;
    }

    /// Waits until it has no reader.
    pub(super) async fn left(&self) {
        self.until(|kept| kept.left.is_some()).await;
    }

    /// Waits until the time to resume it is over, or it cannot be resumed any more.
    pub(super) async fn forgotten(&self) {
        self.until(|kept| kept.is_forgotten).await;
    }

    async fn until(&self, is_over: impl Fn(&StoredEvents) -> bool) {
        let mut changed = self.changed.subscribe();
        loop {
            let deadline = {
                let kept = self.kept.lock();
                if is_over(&kept) {
                    return;
                }
                let read = kept.was_read.map(|read| read + READ_TIME);
                let left = kept.left.map(|left| left + RETURN_TIME);
                read.into_iter().chain(left).min()
            };
            tokio::select! {
                _ = changed.changed() => {}
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => return,
            }
        }
    }
}

impl Drop for ReplayStream {
    fn drop(&mut self) {
        let bytes = self.kept.lock().bytes;
        self.session_bytes.fetch_sub(bytes, Relaxed);
    }
}

/// The id of an event: which stream, and where in it.
fn id(stream: u64, event: u64, is_changes: bool) -> String {
    format!("{}{stream}-{event}", if is_changes { 'c' } else { 'r' })
}

/// Stream and event of an id as we write it, and whether it is of a stream of changes.
pub(super) fn parse(id: &str) -> Option<(u64, u64, bool)> {
    let (stream, event) = id.split_once('-')?;
    let (is_changes, stream) = match stream.strip_prefix('c') {
        Some(stream) => (true, stream),
        None => (false, stream.strip_prefix('r')?),
    };
    Some((stream.parse().ok()?, event.parse().ok()?, is_changes))
}

/// Reads a stream for one connection. Dropping it lets the stream wait for the next.
#[derive(Debug)]
pub(crate) struct StreamReader {
    stream: Arc<ReplayStream>,
    number: u64,
    /// The last event that was read.
    seen: u64,
    changed: watch::Receiver<()>,
}

impl StreamReader {
    pub(super) fn attach(stream: Arc<ReplayStream>, seen: u64) -> Self {
        let (number, changed) = stream.attach();
        Self { stream, number, seen, changed }
    }

    /// The next event, ready to be sent; nothing at the end, or when another connection has taken over. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Rope> {
        loop {
            match self.stream.after(self.number, self.seen) {
                ReadOutcome::Event(number, text) => {
                    self.seen = number;
                    return Some(text);
                }
                ReadOutcome::End => return None,
                // The sender is dropped with the stream.
                ReadOutcome::Nothing => self.changed.changed().await.ok()?,
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.stream.detach(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(stream: &ReplayStream, seen: u64) -> Vec<String> {
        let (reader, _) = stream.attach();
        let mut seen = seen;
        let mut texts = Vec::new();
        while let ReadOutcome::Event(next, text) = stream.after(reader, seen) {
            seen = next;
            texts.push(String::from_utf8(text.into_bytes().to_vec()).unwrap());
        }
        texts
    }

    #[test]
    fn events_are_numbered_and_read_from_where_one_was() {
        let stream = ReplayStream::new(7, false, Arc::default());
        stream.prime();
        stream.push("{}".to_owned().into());
        let all = ["id: r7-1\nretry: 1000\ndata: \n\n", "id: r7-2\nevent: message\ndata: {}\n\n"];
        assert_eq!(texts(&stream, 0), all);
        assert_eq!(texts(&stream, 1), all[1..]);
        assert_eq!(texts(&stream, 2), [""; 0]);
        assert_eq!(texts(&stream, u64::MAX), [""; 0], "an id that never was");
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_is_always_there() {
        let stream = ReplayStream::new(1, true, Arc::default());
        for _ in 0..2 * MAX_EVENTS {
            stream.push("{}".to_owned().into());
        }
        let kept = texts(&stream, 0);
        assert_eq!(kept.len(), MAX_EVENTS);
        assert!(kept[0].starts_with(&format!("id: c1-{}\n", MAX_EVENTS + 1)));
        stream.push("x".repeat(2 * MAX_BYTES).into());
        assert_eq!(texts(&stream, 0).len(), 1);
    }

    #[test]
    fn what_a_session_keeps_is_bounded_over_all_its_streams() {
        let bytes = Arc::<AtomicUsize>::default();
        let streams: Vec<ReplayStream> =
            (0..100).map(|number| ReplayStream::new(number, false, bytes.clone())).collect();
        for stream in &streams {
            for _ in 0..100 {
                stream.push("x".repeat(20_000).into());
            }
        }
        let kept = bytes.load(Relaxed);
        assert!(kept <= MAX_SESSION_BYTES + 100 * 21_000, "{kept}");
        assert!(streams.iter().all(|stream| !texts(stream, 0).is_empty()), "the newest is always there");
        drop(streams);
        assert_eq!(bytes.load(Relaxed), 0);
    }

    #[test]
    fn ids_are_read_as_they_are_written_and_nothing_else_is() {
        assert_eq!(parse(&id(3, 4, false)), Some((3, 4, false)));
        assert_eq!(parse(&id(3, 4, true)), Some((3, 4, true)));
        for odd in ["", "-", "r-", "r1", "1-1", "r1-x", "x1-1", "r-1-1", "rr1-1"] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
