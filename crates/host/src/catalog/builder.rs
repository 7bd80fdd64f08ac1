//! Keeping the table.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Duration, interval},
};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalog, CatalogKind, LogSource, ServerHandle};

use crate::{
    HostChange, RouteTable, ServerPart,
    catalog::{CheckedTool, UncheckedTools},
    host::{HostInner, TableInputs},
    servers::{
        instances::roots::RootInstances,
        registry::{RegisteredServer, ServerRegistry},
    },
};

/// How often what nobody uses any more is looked for.
const TIDYING: Duration = Duration::from_secs(60);

/// What a part of the table was made of; the same thing again makes the same part.
#[derive(Clone)]
pub(crate) struct TablePart {
    member: Arc<RegisteredServer>,
    catalogue: Arc<Catalog>,
    is_offered: bool,
}

impl TablePart {
    pub(crate) fn of(member: &Arc<RegisteredServer>) -> Self {
        let catalogue = member.handle().status().borrow().catalog.clone();
        Self { is_offered: member.state().is_offered(), member: member.clone(), catalogue }
    }

    fn is_kept(&self) -> bool {
        self.member.runner.kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &self.catalogue))
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.member, &other.member)
            && Arc::ptr_eq(&self.catalogue, &other.catalogue)
            && self.is_offered == other.is_offered
    }
}

/// Servers of one moment.
struct ServersSnapshot {
    roster: Arc<ServerRegistry>,
    parts: Vec<TablePart>,
}

impl ServersSnapshot {
    fn now(shared: &HostInner) -> Self {
        let roster = shared.servers.load_full();
        Self { parts: roster.servers.iter().map(TablePart::of).collect(), roster }
    }

    /// The tools that the table does not know and nobody kept.
    fn unchecked(&self, table: &RouteTable) -> UncheckedTools {
        let of_part = |part: &TablePart| -> Vec<Bytes> {
            let tools = part.catalogue.list(CatalogKind::Tools).iter();
            tools.filter(|tool| table.checked(tool).is_none()).cloned().collect()
        };
        let parts = self.parts.iter().filter(|part| part.is_offered && !part.is_kept());
        UncheckedTools { lists: parts.map(of_part).collect() }
    }
}

/// What was found out about tools of a moment.
type ToolChecks = JoinHandle<Vec<(Bytes, CheckedTool)>>;

/// Makes the table anew whenever something about servers changes, and says what changed in it.
///
/// Many tools are checked on a thread of their own: schemas that take long must not stop anybody.
pub(crate) async fn maintain_table(
    shared: Arc<HostInner>,
    mut parts: Vec<TablePart>,
    mut updated: mpsc::Receiver<(ServerName, Box<Notification>)>,
) {
    let mut tidying = interval(TIDYING);
    let mut checking: Option<(ServersSnapshot, ToolChecks)> = None;
    // A server which was up before this task ran is not overlooked.
    shared.stirred.notify_one();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tidying.tick() => {
                for member in &shared.servers.load().servers {
                    member.runner.instances.sweep();
                    member.runner.roots.iter().for_each(RootInstances::sweep);
                }
            }
            Some((server, notification)) = updated.recv() => {
                let notification: Arc<Notification> = notification.into();
                let _ = shared.notifications.send((server.clone(), notification.clone())); // nobody listening is fine
                let change: fn(ServerName, Arc<Notification>) -> HostChange = match notification.method() {
                    method::TASK_STATUS => |server, notification| HostChange::Task { server, notification },
                    method::RESOURCE_UPDATED => |server, notification| HostChange::Resource { server, notification },
                    // Nothing tells for which of our clients it is.
                    _ => continue,
                };
                let _ = shared.changes.send(change(server, notification)); // nobody listening is fine
            }
            () = shared.stirred.notified(), if checking.is_none() => {
                let moment = ServersSnapshot::now(&shared);
                let unchecked = moment.unchecked(&shared.table.load());
                if unchecked.is_little() {
                    look(&shared, moment, &mut parts, unchecked.check());
                } else {
                    checking = Some((moment, shared.tasks.spawn_blocking(move || unchecked.check())));
                }
            }
            checked = finished(&mut checking) => {
                if let Some((moment, _)) = checking.take() {
                    look(&shared, moment, &mut parts, checked);
                }
            }
        }
    }
}

/// What was found out, once it is; never while nothing is looked at.
async fn finished(checking: &mut Option<(ServersSnapshot, ToolChecks)>) -> Vec<(Bytes, CheckedTool)> {
    match checking {
        // What a check that broke off did not find out is found out when the table is made.
        Some((_, checking)) => checking.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

/// The first table, of what was kept: clients who come before the servers are up see it.
pub(crate) fn first_look(shared: &Arc<HostInner>) -> Vec<TablePart> {
    let mut parts = Vec::new();
    look(shared, ServersSnapshot::now(shared), &mut parts, Vec::new());
    parts
}

fn look(
    shared: &Arc<HostInner>,
    moment: ServersSnapshot,
    parts: &mut Vec<TablePart>,
    checked: Vec<(Bytes, CheckedTool)>,
) {
    let ServersSnapshot { roster, parts: now } = moment;
    let is_same =
        now.len() == parts.len() && now.iter().zip(&*parts).all(|(now, before)| now.is_same(before));
    if !is_same {
        make(shared, &roster, &now, checked);
        remember(shared, parts, &now);
        *parts = now;
    }
    shared.made_of.send_replace(TableInputs { servers: Some(roster), parts: parts.clone() });
}

fn make(
    shared: &HostInner,
    roster: &ServerRegistry,
    parts: &[TablePart],
    checked: Vec<(Bytes, CheckedTool)>,
) {
    let offers: Vec<ServerPart> = parts
        .iter()
        .map(|part| ServerPart {
            server: part.member.handle().clone(),
            catalog: if part.is_offered { part.catalogue.clone() } else { Arc::default() },
            tuning: part.member.tuning.clone(),
            is_kept: part.is_kept(),
        })
        .collect();
    let before = shared.table.load_full();
    let (table, changed) = before.next(&offers, shared.naming, checked);
    remark(&before, &table);
    for member in &roster.servers {
        let flaws = table.quarantined.iter().filter(|flaw| flaw.server == member.name).count();
        let first = table.quarantined.iter().find(|flaw| flaw.server == member.name);
        let flaw = first.map(|first| {
            let more = if flaws > 1 { format!(", and {} more", flaws - 1) } else { String::new() };
            format!("the {} `{}` is not offered: {}{more}", first.kind, first.name, first.reason).into()
        });
        member.runner.status_context.set_flaw(flaw);
    }
    shared.table.store(Arc::new(table));
    for member in &roster.servers {
        shared.events.state(&member.name, member.state());
    }
    for kind in changed {
        let _ = shared.changes.send(HostChange::List(kind));
    }
}

/// Keeps what servers offer for another day, without what is wrong in it.
fn remember(shared: &Arc<HostInner>, before: &[TablePart], now: &[TablePart]) {
    let Some(cache) = &shared.cache else { return };
    for part in now {
        let is_known = before.iter().any(|known| Arc::ptr_eq(&known.catalogue, &part.catalogue));
        if let Some(config) = part.member.config.as_ref().filter(|_| !is_known && part.member.state().is_up())
        {
            let (cache, config) = (cache.clone(), config.clone());
            let catalogue = fit(&shared.table.load(), &part.catalogue);
            shared.tasks.spawn_blocking(move || cache.store(&config, &catalogue));
        }
    }
}

/// A catalogue with its tools as clients see them, and without those that are not offered.
fn fit(table: &RouteTable, catalogue: &Arc<Catalog>) -> Arc<Catalog> {
    let tools = catalogue.list(CatalogKind::Tools);
    let is_as_written = |tool: &Bytes| {
        table.checked(tool).is_none_or(|checked| checked.as_ref().is_ok_and(|fit| fit.text().is_none()))
    };
    if tools.iter().all(is_as_written) {
        return catalogue.clone();
    }
    let offered = |tool: &Bytes| match table.checked(tool) {
        Some(Err(_)) => None,
        Some(Ok(fit)) => Some(fit.text().unwrap_or(tool).clone()),
        None => Some(tool.clone()),
    };
    let mut fit = Catalog::clone(catalogue);
    fit.replace(CatalogKind::Tools, tools.iter().filter_map(offered).collect());
    Arc::new(fit)
}

/// Writes what people should know about the offers of servers into the servers' logs, once.
fn remark(before: &RouteTable, now: &RouteTable) {
    for (server, remark) in &now.remarks {
        let is_known =
            |(other, known): &(ServerHandle, String)| other.name() == server.name() && known == remark;
        if !before.remarks.iter().any(is_known) {
            server.log().push(LogSource::Event, remark);
        }
    }
}
