//! Keeping the table.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Duration, interval, sleep_until},
};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalog, CatalogKind, LogSource, ServerHandle};

use crate::{
    Host, HostChange, HostEventKind, RouteTable, ServerPart,
    catalog::{
        CheckedTool, Quarantined, UncheckedTools,
        review::{CatalogRecord, Unreviewed},
    },
    host::{HostInner, TableInputs},
    servers::{
        instances::roots::RootInstances,
        registry::{RegisteredServer, ServerRegistry},
    },
    view::{BaseEvent, BaseFeed, OfferedCatalog},
};

/// How often unused instances are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The inputs of one part of the table; the same inputs make the same part.
#[derive(Clone)]
pub(crate) struct TablePart {
    entry: Arc<RegisteredServer>,
    catalog: Arc<Catalog>,
    is_offered: bool,
    /// The last review of its catalog, perhaps of the one before.
    review: Option<Arc<CatalogRecord>>,
}

impl TablePart {
    pub(crate) fn of(entry: &Arc<RegisteredServer>) -> Self {
        let catalog = entry.handle().status().borrow().catalog.clone();
        let review = entry.last_review();
        Self { is_offered: entry.state().is_offered(), entry: entry.clone(), catalog, review }
    }

    /// The catalog as it is offered, reviewed where it is.
    fn offered(&self) -> Arc<Catalog> {
        match self.is_offered {
            true => self.entry.reviewed(&self.catalog, self.review.as_deref()),
            false => Arc::default(),
        }
    }

    /// Whether nothing of it waits for a review.
    pub(crate) fn is_settled(&self) -> bool {
        self.entry.is_settled(&self.catalog, self.review.as_deref())
    }

    fn is_kept(&self) -> bool {
        self.entry.runner.kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &self.catalog))
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entry, &other.entry)
            && Arc::ptr_eq(&self.catalog, &other.catalog)
            && self.is_offered == other.is_offered
            && match (&self.review, &other.review) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
    }
}

/// The servers and catalogs at one moment.
struct ServersSnapshot {
    registry: Arc<ServerRegistry>,
    parts: Vec<TablePart>,
}

impl ServersSnapshot {
    fn now(shared: &HostInner) -> Self {
        let registry = shared.servers.load_full();
        Self { parts: registry.servers.iter().map(TablePart::of).collect(), registry }
    }

    /// The tools that are neither in the table nor from the cache.
    fn unchecked(&self, shared: &HostInner) -> UncheckedTools {
        let table = shared.table.load();
        let of_part = |part: &TablePart| -> Vec<Bytes> {
            let tools = part.catalog.list(CatalogKind::Tools).iter();
            tools
                .filter(|tool| table.checked(tool).is_none() && shared.checked_by_base(tool).is_none())
                .cloned()
                .collect()
        };
        let parts = self.parts.iter().filter(|part| part.is_offered && !part.is_kept());
        UncheckedTools { lists: parts.map(of_part).collect() }
    }

    /// The catalogs that must be reviewed before they are offered. Those of servers that a view shares are reviewed by its base.
    fn unreviewed(&self, shared: &HostInner) -> Option<Unreviewed> {
        let parts = self.parts.iter().filter(|part| part.is_offered && shared.is_own(&part.entry));
        Unreviewed::among(
            shared.review.as_ref(),
            parts.map(|part| (part.entry.clone(), part.catalog.clone())),
        )
    }

    /// The same moment, with what was reviewed since.
    fn with_reviews(mut self) -> Self {
        for part in &mut self.parts {
            part.review = part.entry.last_review();
        }
        self
    }
}

/// The running check of tools.
type ToolChecks = JoinHandle<Vec<(Bytes, CheckedTool)>>;

/// Rebuilds the table whenever a server or catalog changes, and sends what changed in it.
///
/// Many tools are checked on a thread of their own: schemas that take long must not block other work. Catalogs are reviewed on another,
/// which may wait for the disk; the table does not wait for that.
pub(crate) async fn maintain_table(
    shared: Arc<HostInner>,
    mut parts: Vec<TablePart>,
    mut updated: mpsc::Receiver<(ServerName, Box<Notification>)>,
    mut base: Option<BaseFeed>,
) {
    let mut sweep_timer = interval(SWEEP_INTERVAL);
    let mut checking: Option<(ServersSnapshot, ToolChecks)> = None;
    // Whether the table must be built although servers and catalogs are the same.
    let mut is_stale = false;
    let mut reviewing: Option<JoinHandle<()>> = None;
    // A server which was up before this task ran is not overlooked.
    shared.servers_changed.notify_one();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => {
                shared.stop_own();
                return;
            }
            event = next(&mut base) => match event {
                BaseEvent::Servers => follow_base(&shared),
                event => shared.forward(event),
            },
            () = shared.policy_changed.notified() => {
                is_stale = true;
                follow_base(&shared);
            }
            _ = sweep_timer.tick() => {
                for entry in &shared.servers.load().servers {
                    entry.runner.instances.sweep();
                    entry.runner.roots.iter().for_each(RootInstances::sweep);
                }
            }
            Some((server, notification)) = updated.recv() => {
                let notification: Arc<Notification> = notification.into();
                let _ = shared.notifications.send((server.clone(), notification.clone())); // there may be no listeners
                let change: fn(ServerName, Arc<Notification>) -> HostChange = match notification.method() {
                    method::TASK_STATUS => |server, notification| HostChange::Task { server, notification },
                    method::RESOURCE_UPDATED => |server, notification| HostChange::Resource { server, notification },
                    // Nothing tells for which of our clients it is.
                    _ => continue,
                };
                let _ = shared.changes.send(change(server, notification)); // there may be no listeners
            }
            is_done = reviewed(&mut reviewing) => {
                reviewing = None;
                if is_done {
                    shared.servers_changed.notify_one();
                }
            }
            () = due(&shared, &parts), if reviewing.is_none() => shared.servers_changed.notify_one(),
            () = shared.servers_changed.notified(), if checking.is_none() => {
                let snapshot = ServersSnapshot::now(&shared);
                let unchecked = snapshot.unchecked(&shared);
                if reviewing.is_none()
                    && let Some(unreviewed) = snapshot.unreviewed(&shared)
                {
                    reviewing = Some(shared.tasks.spawn_blocking(move || unreviewed.review()));
                }
                if unchecked.is_little() {
                    rebuild(&shared, snapshot, &mut parts, unchecked.check(), &mut is_stale);
                } else {
                    checking = Some((snapshot, shared.tasks.spawn_blocking(move || unchecked.check())));
                }
            }
            checked = finished(&mut checking) => {
                if let Some((snapshot, _)) = checking.take() {
                    rebuild(&shared, snapshot, &mut parts, checked, &mut is_stale);
                }
            }
        }
    }
}

/// Makes the servers of a view equal to those of its base.
fn follow_base(shared: &Arc<HostInner>) {
    let (host, commands) = (Host { shared: shared.clone() }, shared.follow_base());
    if !commands.is_empty() {
        shared.tasks.spawn(async move { host.execute(commands).await });
    }
    shared.servers_changed.notify_one();
}

/// What happens next in the base of a view; pending in a host that is no view.
async fn next(base: &mut Option<BaseFeed>) -> BaseEvent {
    match base {
        Some(base) => base.next().await,
        None => std::future::pending().await,
    }
}

/// Resolves when a catalog should be reviewed again; pending while none should.
async fn due(shared: &HostInner, parts: &[TablePart]) {
    let parts = parts.iter().filter(|part| part.is_offered && shared.is_own(&part.entry));
    let reviews = parts.filter_map(|part| part.review.as_ref());
    match reviews.filter_map(|record| record.again_at()).min() {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Whether the running review came to its end; pending while there is none.
async fn reviewed(reviewing: &mut Option<JoinHandle<()>>) -> bool {
    match reviewing {
        Some(reviewing) => reviewing.await.is_ok(),
        None => std::future::pending().await,
    }
}

/// The result of the running check; pending while there is none.
async fn finished(checking: &mut Option<(ServersSnapshot, ToolChecks)>) -> Vec<(Bytes, CheckedTool)> {
    match checking {
        // What a check that panicked did not find is checked when the table is built.
        Some((_, checking)) => checking.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

/// Builds the first table from the cache, for clients that connect before the servers are up.
pub(crate) fn build_first_table(shared: &Arc<HostInner>) -> Vec<TablePart> {
    let mut parts = Vec::new();
    let mut snapshot = ServersSnapshot::now(shared);
    // No server is up yet, so nothing is written.
    if let Some(unreviewed) = snapshot.unreviewed(shared) {
        unreviewed.review();
        snapshot = snapshot.with_reviews();
    }
    rebuild(shared, snapshot, &mut parts, Vec::new(), &mut false);
    parts
}

fn rebuild(
    shared: &Arc<HostInner>,
    snapshot: ServersSnapshot,
    parts: &mut Vec<TablePart>,
    checked: Vec<(Bytes, CheckedTool)>,
    is_stale: &mut bool,
) {
    let ServersSnapshot { registry, parts: now } = snapshot;
    let is_same =
        now.len() == parts.len() && now.iter().zip(&*parts).all(|(now, before)| now.is_same(before));
    if !is_same || std::mem::take(is_stale) {
        build_table(shared, &registry, &now, checked);
        remember(shared, parts, &now);
        *parts = now;
    }
    shared.made_of.send_replace(TableInputs { servers: Some(registry), parts: parts.clone() });
}

fn build_table(
    shared: &HostInner,
    registry: &ServerRegistry,
    parts: &[TablePart],
    mut checked: Vec<(Bytes, CheckedTool)>,
) {
    let offers: Vec<ServerPart> = parts
        .iter()
        .zip(registry.slugs())
        .map(|(part, slug)| {
            let OfferedCatalog { catalog, rules, has_resources } =
                shared.offered(&part.entry, slug, &part.offered());
            ServerPart {
                server: part.entry.handle().clone(),
                slug: slug.clone(),
                catalog,
                tuning: part.entry.tuning.clone(),
                is_kept: part.is_kept(),
                rules,
                has_resources,
            }
        })
        .collect();
    let before = shared.table.load_full();
    if shared.view.is_some() {
        let tools = offers.iter().flat_map(|offer| offer.catalog.list(CatalogKind::Tools));
        let unknown = tools.filter(|tool| before.checked(tool).is_none());
        checked.extend(unknown.filter_map(|tool| Some((tool.clone(), shared.checked_by_base(tool)?))));
    }
    let (mut table, changed) = before.next(&offers, shared.naming(), checked);
    for part in parts.iter().filter(|part| part.is_offered) {
        let Some(reviewed) = part.review.as_ref().and_then(|record| record.reviewed()) else { continue };
        let server = part.entry.handle();
        for note in &reviewed.notes {
            let is_known = before.notes().any(|(name, known)| name == server.name() && known == note);
            if !is_known && shared.is_own(&part.entry) {
                let (server, note) = (server.name().clone(), note.as_str().into());
                shared.events.note(HostEventKind::Reviewed { server, note });
            }
            table.remarks.push((server.clone(), note.clone()));
        }
        // In a view, what is hidden may be something that its caller must not know of.
        if shared.view.is_some() {
            continue;
        }
        table.quarantined.extend(reviewed.hidden.iter().map(|item| Quarantined {
            server: part.entry.name.clone(),
            kind: item.kind,
            name: item.name.clone(),
            reason: item.reason.clone(),
        }));
    }
    remark(registry, shared, &before, &table);
    for entry in registry.servers.iter().filter(|entry| shared.is_own(entry)) {
        let flaws = table.quarantined.iter().filter(|flaw| flaw.server == entry.name).count();
        let first = table.quarantined.iter().find(|flaw| flaw.server == entry.name);
        let flaw = first.map(|first| {
            let more = if flaws > 1 { format!(", and {} more", flaws - 1) } else { String::new() };
            format!("the {} `{}` is not offered: {}{more}", first.kind, first.name, first.reason).into()
        });
        entry.runner.status_context.set_flaw(flaw);
    }
    shared.table.store(Arc::new(table));
    for entry in &registry.servers {
        shared.events.state(&entry.name, entry.state());
    }
    for kind in changed {
        let _ = shared.changes.send(HostChange::List(kind));
    }
}

/// Keeps what servers offer for another day, without what is wrong in it.
fn remember(shared: &Arc<HostInner>, before: &[TablePart], now: &[TablePart]) {
    let Some(cache) = &shared.cache else { return };
    for part in now {
        let is_known = before.iter().any(|known| Arc::ptr_eq(&known.catalog, &part.catalog));
        if let Some(config) = part.entry.config.as_ref().filter(|_| !is_known && part.entry.state().is_up()) {
            let (cache, config) = (cache.clone(), config.clone());
            let catalog = fit(&shared.table.load(), &part.catalog);
            shared.tasks.spawn_blocking(move || cache.store(&config, &catalog));
        }
    }
}

/// A catalogue with its tools as clients see them, and without those that are not offered.
fn fit(table: &RouteTable, catalog: &Arc<Catalog>) -> Arc<Catalog> {
    let tools = catalog.list(CatalogKind::Tools);
    let is_as_written = |tool: &Bytes| {
        table.checked(tool).is_none_or(|checked| checked.as_ref().is_ok_and(|fit| fit.text().is_none()))
    };
    if tools.iter().all(is_as_written) {
        return catalog.clone();
    }
    let offered = |tool: &Bytes| match table.checked(tool) {
        Some(Err(_)) => None,
        Some(Ok(fit)) => Some(fit.text().unwrap_or(tool).clone()),
        None => Some(tool.clone()),
    };
    let mut fit = Catalog::clone(catalog);
    fit.replace(CatalogKind::Tools, tools.iter().filter_map(offered).collect());
    Arc::new(fit)
}

/// Writes what people should know about the offers of servers into the servers' logs, once.
fn remark(registry: &ServerRegistry, shared: &HostInner, before: &RouteTable, now: &RouteTable) {
    let is_own = |server: &ServerHandle| {
        shared.view.is_none()
            || registry.get(server.name().as_str()).is_some_and(|entry| shared.is_own(entry))
    };
    for (server, remark) in now.remarks.iter().filter(|(server, _)| is_own(server)) {
        let is_known =
            |(other, known): &(ServerHandle, String)| other.name() == server.name() && known == remark;
        if !before.remarks.iter().any(is_known) {
            server.log().push(LogSource::Event, remark);
        }
    }
}
