//! Reviews: a look at every catalog before it is offered.
//!
//! The host does not know what is looked for; whoever starts it brings a [`CatalogReview`]. A catalog is reviewed when it is new, when
//! it came from the cache, and when the review says that it decides otherwise now. Until a review is done, the new catalog is offered, unless
//! the review [holds it back](CatalogReview::holds_back): then the one that was reviewed before is, or nothing.

use std::{fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwapOption;
use tokio::time::Instant;
use toolbay_config::ServerConfig;
use toolbay_upstream::Catalog;

use crate::servers::registry::RegisteredServer;

/// Decides what of a catalog is offered.
pub trait CatalogReview: fmt::Debug + Send + Sync {
    /// Whether catalogs of a server are reviewed at all.
    fn applies_to(&self, server: &ServerConfig) -> bool;

    /// Whether nothing of a new catalog is offered before it was reviewed.
    fn holds_back(&self, server: &ServerConfig) -> bool;

    /// Reviews a catalog of a server; none if it is offered as it is. A live one is reviewed on a thread that may wait.
    fn review(
        &self,
        server: &ServerConfig,
        catalog: &Arc<Catalog>,
        source: CatalogSource,
    ) -> Option<ReviewedCatalog>;

    /// Another number when reviews may come to something else than before; [`Host::review_again`](crate::Host::review_again) then
    /// has all catalogs reviewed.
    fn generation(&self) -> u64;
}

/// Where a catalog comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogSource {
    /// From the cache, or from the predecessor of the server: the server did not say so itself yet.
    Cached,
    /// From the server.
    Live,
}

/// A catalog as it is offered.
#[derive(Debug, Clone)]
pub struct ReviewedCatalog {
    /// Without what is hidden.
    pub catalog: Arc<Catalog>,
    /// What is hidden.
    pub hidden: Vec<HiddenItem>,
    /// What people should know.
    pub notes: Vec<String>,
    /// When the same catalog is reviewed again, if it should be.
    pub again_in: Option<Duration>,
}

/// An item that a review hides.
#[derive(Debug, Clone)]
pub struct HiddenItem {
    /// What it is: `tool`, `prompt`, …
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Why it is hidden.
    pub reason: String,
}

/// The last review of a server's catalog.
#[derive(Debug)]
pub(crate) struct ReviewSlot {
    review: Arc<dyn CatalogReview>,
    last: ArcSwapOption<CatalogRecord>,
}

/// What a review came to.
#[derive(Debug)]
pub(crate) struct CatalogRecord {
    catalog: Arc<Catalog>,
    source: CatalogSource,
    generation: u64,
    reviewed: Option<ReviewedCatalog>,
    /// When the same catalog is reviewed again.
    again_at: Option<Instant>,
}

impl ReviewSlot {
    /// A place for the reviews of a server; none if it is not reviewed.
    pub(crate) fn new(review: Option<&Arc<dyn CatalogReview>>, config: &ServerConfig) -> Option<Self> {
        let review = review.filter(|review| review.applies_to(config))?.clone();
        Some(Self { review, last: ArcSwapOption::empty() })
    }

    pub(crate) fn load(&self) -> Option<Arc<CatalogRecord>> {
        self.last.load_full()
    }

    fn needs_review(&self, catalog: &Arc<Catalog>, source: CatalogSource, generation: u64) -> bool {
        let known = self.last.load();
        known.as_ref().is_none_or(|known| {
            let is_live_now = known.source == CatalogSource::Cached && source == CatalogSource::Live;
            let is_due = known.again_at.is_some_and(|at| at <= Instant::now());
            !Arc::ptr_eq(&known.catalog, catalog) || known.generation != generation || is_live_now || is_due
        })
    }
}

impl CatalogRecord {
    /// The catalog as it is offered.
    pub(crate) fn offered(&self) -> &Arc<Catalog> {
        self.reviewed.as_ref().map_or(&self.catalog, |reviewed| &reviewed.catalog)
    }

    /// When the same catalog is reviewed again.
    pub(crate) fn again_at(&self) -> Option<Instant> {
        self.again_at
    }

    /// What it hides and says.
    pub(crate) fn reviewed(&self) -> Option<&ReviewedCatalog> {
        self.reviewed.as_ref()
    }
}

impl RegisteredServer {
    /// The last review of its catalog.
    pub(crate) fn last_review(&self) -> Option<Arc<CatalogRecord>> {
        self.runner.review.as_ref()?.load()
    }

    /// A catalog of this server as it is offered after that review.
    pub(crate) fn reviewed(&self, catalog: &Arc<Catalog>, last: Option<&CatalogRecord>) -> Arc<Catalog> {
        match last {
            Some(record) if Arc::ptr_eq(&record.catalog, catalog) => record.offered().clone(),
            Some(record) if self.is_held_back() => record.offered().clone(),
            None if self.is_held_back() => Arc::default(),
            _ => catalog.clone(),
        }
    }

    /// Whether the offer follows this catalog, reviewed where it must be.
    pub(crate) fn is_settled(&self, catalog: &Arc<Catalog>, last: Option<&CatalogRecord>) -> bool {
        let is_reviewed = last.is_some_and(|record| {
            Arc::ptr_eq(&record.catalog, catalog) && record.source == CatalogSource::Live
        });
        is_reviewed || !self.is_held_back() || !self.state().is_up()
    }

    fn is_held_back(&self) -> bool {
        let (Some(slot), Some(config)) = (&self.runner.review, &self.config) else { return false };
        slot.review.holds_back(config)
    }
}

/// Catalogs that are to be reviewed.
pub(crate) struct Unreviewed {
    review: Arc<dyn CatalogReview>,
    catalogs: Vec<(Arc<RegisteredServer>, Arc<Catalog>, CatalogSource)>,
}

impl Unreviewed {
    /// Those among these that were not reviewed; none if there are none.
    pub(crate) fn among(
        review: Option<&Arc<dyn CatalogReview>>,
        parts: impl Iterator<Item = (Arc<RegisteredServer>, Arc<Catalog>)>,
    ) -> Option<Self> {
        let review = review?.clone();
        let generation = review.generation();
        let of = |(entry, catalog): (Arc<RegisteredServer>, Arc<Catalog>)| {
            let source = if entry.state().is_up() { CatalogSource::Live } else { CatalogSource::Cached };
            let needed = entry.runner.review.as_ref()?.needs_review(&catalog, source, generation);
            needed.then_some((entry, catalog, source))
        };
        let catalogs: Vec<_> = parts.filter_map(of).collect();
        (!catalogs.is_empty()).then_some(Self { review, catalogs })
    }

    /// Reviews them. May wait for the disk where a catalog is live.
    pub(crate) fn review(self) {
        for (entry, catalog, source) in self.catalogs {
            let (Some(slot), Some(config)) = (&entry.runner.review, &entry.config) else { continue };
            // Before, so that a decision that changes meanwhile is not missed.
            let generation = self.review.generation();
            let reviewed = self.review.review(config, &catalog, source);
            let again_in = reviewed.as_ref().and_then(|reviewed| reviewed.again_in);
            let again_at = again_in.map(|wait| Instant::now() + wait);
            slot.last.store(Some(Arc::new(CatalogRecord {
                catalog,
                source,
                generation,
                reviewed,
                again_at,
            })));
        }
    }
}
