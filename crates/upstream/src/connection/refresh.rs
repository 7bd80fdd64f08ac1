//! Keeping what is known of a server up to date.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use super::{UpstreamConnection, WorkOutput};
use crate::{
    CatalogKind,
    catalog::list::{ListResult, list},
    connection::handshake::{ServerIdentity, identify_again},
};

/// The shortest interval between refreshes of an expired list, however often it is read.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);

impl UpstreamConnection<'_> {
    pub(super) fn list_again(&mut self) {
        self.refresh_at = None;
        let Some(revision) = self.revision else { return };
        let (kinds, peer) = (std::mem::take(&mut self.changed), self.peer.clone());
        let refresh_identity =
            std::mem::take(&mut self.refresh_identity) && revision.features().has_discover();
        let limit = self.context.settings.timeouts.idle;
        let is_hub = !self.context.status.borrow().catalog.hubs.is_empty();
        self.work = Some(Box::pin(async move {
            let identity = match refresh_identity {
                true => timeout(limit, identify_again(&peer)).await.ok().flatten(),
                false => None,
            };
            let mut all = Vec::new();
            for kind in kinds {
                // A list that is never answered must not make us deaf to later changes.
                let listed = timeout(limit, list(&peer, kind, revision, is_hub)).await;
                all.push((kind, listed.unwrap_or_else(|_| ListResult::no_response(limit))));
            }
            WorkOutput::Listed(all, identity)
        }));
    }

    pub(super) fn listed(&mut self, lists: Vec<(CatalogKind, ListResult)>, identity: Option<ServerIdentity>) {
        let now = Some(Instant::now());
        let (mut catalog, mut freshness) = {
            let status = self.context.status.borrow();
            ((*status.catalog).clone(), status.freshness.clone())
        };
        if let Some(identity) = identity {
            identity.store(&mut catalog);
            freshness.identified = now;
        }
        for (kind, listed) in lists {
            freshness.listed[kind as usize] = now;
            listed.store(kind, &mut catalog);
        }
        self.apply_header_rules(&mut catalog);
        self.context.calls.learn(&catalog);
        self.context.status.modify(|status| {
            status.freshness = freshness;
            // The same catalog stays in its place: making a table of it is work.
            if catalog != *status.catalog {
                status.catalog = Arc::new(catalog);
            }
        });
    }

    /// Refreshes what expired, unless that was done a moment ago.
    pub(super) fn refresh(&mut self, kind: Option<CatalogKind>) {
        let last = &mut self.refreshed[kind.map_or(CatalogKind::ALL.len(), |kind| kind as usize)];
        if self.revision.is_none() || last.is_some_and(|last| last.elapsed() < REFRESH_PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        match kind {
            Some(kind) => drop(self.changed.insert(kind)),
            None => self.refresh_identity = true,
        }
        self.refresh_at.get_or_insert_with(Instant::now);
    }
}
