//! Responses that are used again for some time.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The most bytes and the most responses that are kept.
const MAX_BYTES: usize = 8 << 20;
const MAX_ENTRIES: usize = 512;

/// Responses by their URL, bounded in number and bytes. The oldest go first.
#[derive(Debug)]
pub(super) struct Cache {
    time_to_live: Duration,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_url: HashMap<String, (Instant, Bytes)>,
    /// Oldest first. One that was replaced stands here twice.
    order: VecDeque<(Instant, String)>,
    bytes: usize,
}

impl Cache {
    /// Keeps responses for that long; not at all if it is zero.
    pub(super) fn new(time_to_live: Duration) -> Self {
        Self { time_to_live, entries: Mutex::default() }
    }

    pub(super) fn get(&self, url: &str) -> Option<Bytes> {
        let entries = self.entries.lock();
        let (stored, response) = entries.by_url.get(url)?;
        (stored.elapsed() < self.time_to_live).then(|| response.clone())
    }

    pub(super) fn insert(&self, url: String, response: Bytes) {
        if self.time_to_live.is_zero() || response.len() > MAX_BYTES / 4 {
            return;
        }
        let now = Instant::now();
        let mut entries = self.entries.lock();
        entries.bytes += url.len() + response.len();
        entries.order.push_back((now, url.clone()));
        if let Some((_, replaced)) = entries.by_url.insert(url.clone(), (now, response)) {
            entries.bytes -= url.len() + replaced.len();
        }
        while entries.bytes > MAX_BYTES
            || entries.order.len() > MAX_ENTRIES
            || entries.order.front().is_some_and(|(stored, _)| stored.elapsed() >= self.time_to_live)
        {
            let Some((stored, url)) = entries.order.pop_front() else { break };
            if entries.by_url.get(&url).is_some_and(|(current, _)| *current == stored)
                && let Some((_, removed)) = entries.by_url.remove(&url)
            {
                entries.bytes -= url.len() + removed.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn responses_are_kept_for_a_time_and_within_bounds() {
        let cache = Cache::new(Duration::from_secs(10));
        cache.insert("a".to_owned(), Bytes::from_static(b"1"));
        cache.insert("a".to_owned(), Bytes::from_static(b"22"));
        assert_eq!(cache.get("a").as_deref(), Some(&b"22"[..]));
        assert_eq!(cache.entries.lock().bytes, 3);
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(cache.get("a"), None);
        for number in 0..2_000 {
            cache.insert(number.to_string(), Bytes::from(vec![0; 100_000]));
        }
        let entries = cache.entries.lock();
        assert!(entries.bytes <= MAX_BYTES && entries.by_url.len() == entries.order.len());
        assert!(entries.by_url.contains_key("1999") && !entries.by_url.contains_key("a"));
        drop(entries);
        let off = Cache::new(Duration::ZERO);
        off.insert("a".to_owned(), Bytes::new());
        assert_eq!(off.get("a"), None);
    }
}
