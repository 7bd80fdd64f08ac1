//! How long lists and identities of servers may be cached.
//!
//! Modern servers give hints (`ttlMs`, `cacheScope`). One that also announces changes is trusted
//! for all of that time, because it would announce a change; for any other the age is subtracted, and when
//! nothing is left, the next reader has it listed again. Legacy servers give no hints: one that announces
//! changes sets no limit, any other a short one, and what they list is private.

use std::time::Duration;

use tokio::time::Instant;
use toolbay_protocol::Response;

use crate::{CatalogKind, UpstreamStatus};

/// How long a list may be kept of a server that neither says so nor announces changes.
const UNANNOUNCED: Duration = Duration::from_secs(5);

/// How long something may be kept, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHints {
    /// For how long; nothing when there is no limit.
    pub ttl: Option<Duration>,
    /// Whether it may be shared between clients.
    pub is_public: bool,
}

impl CacheHints {
    /// Reads the hints of a result; what is missing counts as the strictest value.
    pub(crate) fn of(response: &Response) -> Self {
        let raw = |field| response.result_field(field).map_or("", |span| response.raw(span));
        // Through a float, because `1e3` is an integer too; negative values count as 0.
        let ttl = raw("ttlMs").parse::<f64>().unwrap_or_default().clamp(0.0, f64::from(u32::MAX));
        Self { ttl: Some(Duration::from_millis(ttl as u64)), is_public: raw("cacheScope") == "\"public\"" }
    }

    /// No limit, but not shared.
    const UNLIMITED: Self = Self { ttl: None, is_public: false };

    /// Returns the stricter of both.
    pub fn and(self, other: Self) -> Self {
        let ttl = self.ttl.into_iter().chain(other.ttl).min();
        Self { ttl, is_public: self.is_public && other.is_public }
    }

    fn aged(self, since: Instant) -> Self {
        Self { ttl: self.ttl.map(|ttl| ttl.saturating_sub(since.elapsed())), ..self }
    }

    fn is_over(self) -> bool {
        self.ttl.is_some_and(|ttl| ttl.is_zero())
    }
}

/// How current our picture of a server is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Freshness {
    /// When each list was last requested; nothing where the server has no such list.
    pub(crate) listed: [Option<Instant>; 4],
    /// Whose changes the server announces.
    pub(crate) announced: [bool; 4],
    /// When the server introduced itself last.
    pub(crate) identified: Option<Instant>,
}

impl UpstreamStatus {
    /// How long its list of that kind may be kept; nothing when it has none.
    pub fn list_hints(&self, kind: CatalogKind) -> Option<CacheHints> {
        let listed = self.freshness.listed[kind as usize]?;
        Some(match (self.catalog.hints(kind), self.freshness.announced[kind as usize]) {
            (Some(hints), true) => hints,
            (Some(hints), false) => hints.aged(listed),
            (None, true) => CacheHints::UNLIMITED,
            (None, false) => CacheHints { ttl: Some(UNANNOUNCED), is_public: false },
        })
    }

    /// How long its identity may be cached; nothing before it is known.
    pub fn server_info_hints(&self) -> Option<CacheHints> {
        let identified = self.freshness.identified?;
        Some(match self.catalog.identity {
            Some(hints) => hints.aged(identified),
            None => CacheHints::UNLIMITED,
        })
    }

    /// Whether its list of that kind should be requested again.
    pub fn is_list_stale(&self, kind: CatalogKind) -> bool {
        let announced = self.freshness.announced[kind as usize];
        let is_over = self.list_hints(kind).is_some_and(CacheHints::is_over);
        is_over && !announced && self.catalog.hints(kind).is_some()
    }

    /// Whether its identity should be requested again.
    pub fn is_server_info_stale(&self) -> bool {
        self.server_info_hints().is_some_and(CacheHints::is_over)
    }
}
