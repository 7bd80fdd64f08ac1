//! How long what a server said may be kept.
//!
//! Servers of the stateless era say so themselves (`ttlMs`, `cacheScope`). One that also announces changes is trusted
//! for all of that time, because we would be told; of any other the time since we asked is taken off, and when
//! nothing is left it is asked again by whoever looks next. Servers with a handshake say nothing: one that announces
//! changes sets no limit, any other a short one, and what they list is nobody else's business.

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
    /// Whether it may be kept for others than the one who asked.
    pub is_public: bool,
}

impl CacheHints {
    /// What a result says about itself; what it does not say is understood in the careful way.
    pub(crate) fn of(response: &Response) -> Self {
        let raw = |field| response.result_field(field).map_or("", |span| response.raw(span));
        // Through a float, because `1e3` is an integer too; negative values count as 0.
        let ttl = raw("ttlMs").parse::<f64>().unwrap_or_default().clamp(0.0, f64::from(u32::MAX));
        Self { ttl: Some(Duration::from_millis(ttl as u64)), is_public: raw("cacheScope") == "\"public\"" }
    }

    /// No limit, and for the one who asked alone.
    const UNLIMITED: Self = Self { ttl: None, is_public: false };

    /// What holds for two things together.
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
    /// When each list was asked for last; nothing where the server has no such list.
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

    /// How long what it said about itself may be kept; nothing before it did.
    pub fn server_info_hints(&self) -> Option<CacheHints> {
        let identified = self.freshness.identified?;
        Some(match self.catalog.identity {
            Some(hints) => hints.aged(identified),
            None => CacheHints::UNLIMITED,
        })
    }

    /// Whether its list of that kind should be asked for again.
    pub fn is_list_stale(&self, kind: CatalogKind) -> bool {
        let announced = self.freshness.announced[kind as usize];
        let is_over = self.list_hints(kind).is_some_and(CacheHints::is_over);
        is_over && !announced && self.catalog.hints(kind).is_some()
    }

    /// Whether it should be asked again who it is.
    pub fn is_server_info_stale(&self) -> bool {
        self.server_info_hints().is_some_and(CacheHints::is_over)
    }
}
