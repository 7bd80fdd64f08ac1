//! Cache hints for merged lists.

use std::time::Duration;

use toolbay_upstream::{CacheHints, CatalogKind, UpstreamStatus};

use crate::{Host, router::wait_for_server::is_starting};

/// How long clients may keep a list whatever its servers say: servers come and go, and not every client listens.
const LONGEST: Duration = Duration::from_secs(60);

impl Host {
    /// How long a merged list may be kept: as long as its shortest part, not at all while a server is starting,
    /// and privately if any part says so. A stale list is requested again, for the next client.
    pub fn list_hints(&self, kind: CatalogKind) -> CacheHints {
        self.merged_hints(Some(kind), |status| status.list_hints(kind), |status| status.is_list_stale(kind))
    }

    /// As [`Host::list_hints`], for what the servers say about themselves.
    pub fn identity_hints(&self) -> CacheHints {
        self.merged_hints(None, UpstreamStatus::server_info_hints, UpstreamStatus::is_server_info_stale)
    }

    fn merged_hints(
        &self,
        kind: Option<CatalogKind>,
        hints_of: impl Fn(&UpstreamStatus) -> Option<CacheHints>,
        is_stale: impl Fn(&UpstreamStatus) -> bool,
    ) -> CacheHints {
        let mut merged: Option<CacheHints> = None;
        for server in self.servers() {
            let status = server.status();
            let status = status.borrow();
            if is_starting(&status) {
                merged = Some(CacheHints { ttl: Some(Duration::ZERO), is_public: false });
            }
            if let Some(part) = hints_of(&status) {
                merged = Some(merged.map_or(part, |merged| merged.and(part)));
            }
            if is_stale(&status) {
                server.refresh(kind);
            }
        }
        let ttl = merged.and_then(|merged| merged.ttl).map_or(LONGEST, |ttl| ttl.min(LONGEST));
        CacheHints { ttl: Some(ttl), is_public: merged.is_some_and(|merged| merged.is_public) }
    }
}
