//! Keeping what is known of a server up to date.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use super::{UpstreamConnection, WorkOutput};
use crate::{
    CatalogKind,
    catalog::list::{ListResult, list},
    connection::handshake::{ServerIdentity, identify_again},
};

/// How rarely a list is asked for again because it ran out, however often someone looks at it.
const REFRESH_PAUSE: Duration = Duration::from_secs(1);

impl UpstreamConnection<'_> {
    pub(super) fn list_again(&mut self) {
        self.look_again = None;
        let Some(revision) = self.revision else { return };
        let (kinds, peer) = (std::mem::take(&mut self.changed), self.peer.clone());
        let introduce = std::mem::take(&mut self.introduce_again) && revision.features().has_discover();
        let patience = self.around.settings.timeouts.idle;
        let is_hub = !self.around.status.borrow().catalog.hubs.is_empty();
        self.chore = Some(Box::pin(async move {
            let introduction = match introduce {
                true => timeout(patience, identify_again(&peer)).await.ok().flatten(),
                false => None,
            };
            let mut all = Vec::new();
            for kind in kinds {
                // A list that is never answered must not make us deaf to later changes.
                let listed = timeout(patience, list(&peer, kind, revision, is_hub)).await;
                all.push((kind, listed.unwrap_or_else(|_| ListResult::no_response(patience))));
            }
            WorkOutput::Listed(all, introduction)
        }));
    }

    pub(super) fn listed(
        &mut self,
        lists: Vec<(CatalogKind, ListResult)>,
        introduction: Option<ServerIdentity>,
    ) {
        let now = Some(Instant::now());
        let (mut catalogue, mut freshness) = {
            let status = self.around.status.borrow();
            ((*status.catalog).clone(), status.freshness.clone())
        };
        if let Some(introduction) = introduction {
            introduction.store(&mut catalogue);
            freshness.introduced = now;
        }
        for (kind, listed) in lists {
            freshness.listed[kind as usize] = now;
            listed.store(kind, &mut catalogue);
        }
        self.mind_headers(&mut catalogue);
        self.around.calls.learn(&catalogue);
        self.around.status.modify(|status| {
            status.freshness = freshness;
            // The same catalogue stays in its place: making a table of it is work.
            if catalogue != *status.catalog {
                status.catalog = Arc::new(catalogue);
            }
        });
    }

    /// Asks again for what ran out, unless that was done a moment ago.
    pub(super) fn refresh(&mut self, kind: Option<CatalogKind>) {
        let last = &mut self.refreshed[kind.map_or(CatalogKind::ALL.len(), |kind| kind as usize)];
        if self.revision.is_none() || last.is_some_and(|last| last.elapsed() < REFRESH_PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        match kind {
            Some(kind) => drop(self.changed.insert(kind)),
            None => self.introduce_again = true,
        }
        self.look_again.get_or_insert_with(Instant::now);
    }
}
