//! Pins of the hub's servers: which server is reviewed how, and what a review means for its catalog.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use toolbay_config::{
    ServerEndpoint,
    scope::{Placed, Reading, Scope},
};
use toolbay_host::{
    Catalog, CatalogKind, CatalogReview, CatalogSource, HiddenItem, ReviewedCatalog, ServerConfig,
};
use toolbay_pins::{
    DefinitionKey, DefinitionKind, Definitions, PinFile, PinMode, PinStore, PinSubject, PinnedServer,
};
use toolbay_protocol::ServerName;

use crate::app::context::Context;

/// Reviews the catalogs of a hub's servers against their pins.
#[derive(Debug)]
pub(crate) struct DefinitionReview {
    file: PinFile,
    /// The pins, once they are needed: commands that run no server need none.
    store: OnceLock<PinStore>,
    /// What is reviewed; servers that are not in it are not.
    subjects: ArcSwap<HashMap<ServerName, PinSubject>>,
    /// Counts changes of `subjects`.
    changes: AtomicU64,
}

impl DefinitionReview {
    /// The pins of the user; none where there is no place for them.
    pub(crate) fn of_user(context: &Context) -> Option<Arc<Self>> {
        let file = PinFile::at(&context.env.pins()?);
        let (store, subjects, changes) = (OnceLock::new(), ArcSwap::default(), AtomicU64::new(0));
        Some(Arc::new(Self { file, store, subjects, changes }))
    }

    pub(crate) fn file(&self) -> &PinFile {
        &self.file
    }

    fn store(&self) -> &PinStore {
        self.store.get_or_init(|| PinStore::open(self.file.clone()))
    }

    /// Follows the configuration and the file of pins, which other processes write, too.
    pub(crate) fn follow(&self, reading: &Reading) {
        self.store.get().map(PinStore::reload);
        let of = |placed: &Placed| Some((placed.server.name.clone(), subject(placed)?));
        let subjects: HashMap<ServerName, PinSubject> =
            reading.merged.servers.iter().filter_map(of).collect();
        if subjects != **self.subjects.load() {
            self.subjects.store(Arc::new(subjects));
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How the definitions of a server are pinned; none if they are not. Built-in servers are this program.
pub(crate) fn subject(placed: &Placed) -> Option<PinSubject> {
    if is_built_in(&placed.server) {
        return None;
    }
    let mode = match placed.file.scope {
        // A repository does not decide how closely it is watched.
        Scope::Project => PinMode::Quarantine,
        _ => placed.server.tuning.pins.unwrap_or(PinMode::Warn),
    };
    (mode != PinMode::Off).then(|| PinSubject {
        server: PinnedServer::new(&placed.file.path, placed.server.name.as_str()),
        launch: placed.launch.written_launch_hash(),
        mode,
    })
}

fn is_built_in(server: &ServerConfig) -> bool {
    matches!(server.endpoint, ServerEndpoint::BuiltIn(_))
}

impl CatalogReview for DefinitionReview {
    fn applies_to(&self, server: &ServerConfig) -> bool {
        !is_built_in(server)
    }

    fn holds_back(&self, server: &ServerConfig) -> bool {
        let subjects = self.subjects.load();
        subjects.get(&server.name).is_some_and(|subject| subject.mode == PinMode::Quarantine)
    }

    fn review(
        &self,
        server: &ServerConfig,
        catalog: &Arc<Catalog>,
        source: CatalogSource,
    ) -> Option<ReviewedCatalog> {
        let subjects = self.subjects.load();
        let subject = subjects.get(&server.name)?;
        // Nothing of a cached catalog is hidden or pinned then.
        let found = match (source, subject.mode) {
            (CatalogSource::Cached, PinMode::Warn | PinMode::Off) => FoundDefinitions::default(),
            _ => FoundDefinitions::of(catalog),
        };
        let review = match source {
            CatalogSource::Cached => self.store().review_cached(subject, &found.definitions),
            CatalogSource::Live => {
                self.store().review(subject, &found.definitions, catalog.problems.is_empty())
            }
        };
        let hidden = |item: &toolbay_pins::HiddenDefinition| HiddenItem {
            kind: item.key.kind.as_str(),
            name: item.key.name.clone(),
            reason: item.reason.clone(),
        };
        Some(ReviewedCatalog {
            catalog: match review.hidden.is_empty() {
                true => catalog.clone(),
                false => found.without(catalog, |key| review.hidden.iter().any(|item| item.key == *key)),
            },
            // Nothing is known of what comes from the cache before the server is up: whoever calls it waits for that.
            hidden: match source {
                CatalogSource::Cached => Vec::new(),
                CatalogSource::Live => review.hidden.iter().map(hidden).collect(),
            },
            notes: review.notes,
            again_in: review.again_in,
        })
    }

    fn generation(&self) -> u64 {
        self.store.get().map_or(0, PinStore::generation) + self.changes.load(Ordering::Relaxed)
    }
}

/// The kinds of lists that are pinned.
const PINNED: [(CatalogKind, DefinitionKind); 3] = [
    (CatalogKind::Tools, DefinitionKind::Tool),
    (CatalogKind::Prompts, DefinitionKind::Prompt),
    (CatalogKind::ResourceTemplates, DefinitionKind::ResourceTemplate),
];

/// The definitions of a catalog.
#[derive(Default)]
struct FoundDefinitions {
    definitions: Definitions,
    instructions: Option<DefinitionKey>,
    /// The key of each item, in the order of the lists.
    keys: [Vec<Option<DefinitionKey>>; 3],
}

impl FoundDefinitions {
    fn of(catalog: &Catalog) -> Self {
        let mut definitions = Definitions::default();
        let instructions = catalog.instructions.as_deref().map(|text| definitions.add_instructions(text));
        let keys = PINNED
            .map(|(list, kind)| catalog.list(list).iter().map(|item| definitions.add(kind, item)).collect());
        Self { definitions, instructions, keys }
    }

    /// The catalog without some of them.
    fn without(&self, catalog: &Catalog, is_hidden: impl Fn(&DefinitionKey) -> bool) -> Arc<Catalog> {
        let mut offered = catalog.clone();
        if self.instructions.as_ref().is_some_and(&is_hidden) {
            offered.instructions = None;
        }
        for ((list, _), keys) in PINNED.into_iter().zip(&self.keys) {
            let items = catalog.list(list).iter().zip(keys);
            let shown = items.filter(|(_, key)| !key.as_ref().is_some_and(&is_hidden));
            offered.replace(list, shown.map(|(item, _)| item.clone()).collect());
        }
        Arc::new(offered)
    }
}
