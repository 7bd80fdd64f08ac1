//! Keeping the table.

use std::sync::Arc;

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Duration, interval},
};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalogue, Kind, LogSource, UpstreamHandle};

use crate::{
    Changed, Offer, Table,
    host::{MadeOf, Shared},
    instances::roots::Roots,
    registry::{CheckedTool, Unchecked},
    roster::{Member, Roster},
};

/// How often what nobody uses any more is looked for.
const TIDYING: Duration = Duration::from_secs(60);

/// What a part of the table was made of; the same thing again makes the same part.
#[derive(Clone)]
pub(crate) struct Part {
    member: Arc<Member>,
    catalogue: Arc<Catalogue>,
    is_offered: bool,
}

impl Part {
    pub(crate) fn of(member: &Arc<Member>) -> Self {
        let catalogue = member.handle().status().borrow().catalogue.clone();
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
struct Moment {
    roster: Arc<Roster>,
    parts: Vec<Part>,
}

impl Moment {
    fn now(shared: &Shared) -> Self {
        let roster = shared.roster.load_full();
        Self { parts: roster.members.iter().map(Part::of).collect(), roster }
    }

    /// The tools that the table does not know and nobody kept.
    fn unchecked(&self, table: &Table) -> Unchecked {
        let of_part = |part: &Part| -> Vec<Bytes> {
            let tools = part.catalogue.list(Kind::Tools).iter();
            tools.filter(|tool| table.checked(tool).is_none()).cloned().collect()
        };
        let parts = self.parts.iter().filter(|part| part.is_offered && !part.is_kept());
        Unchecked { lists: parts.map(of_part).collect() }
    }
}

/// What was found out about tools of a moment.
type Checking = JoinHandle<Vec<(Bytes, CheckedTool)>>;

/// Makes the table anew whenever something about servers changes, and says what changed in it.
///
/// Many tools are checked on a thread of their own: schemas that take long must not stop anybody.
pub(crate) async fn keep_table(
    shared: Arc<Shared>,
    mut parts: Vec<Part>,
    mut updated: mpsc::Receiver<(ServerName, Box<Notification>)>,
) {
    let mut tidying = interval(TIDYING);
    let mut checking: Option<(Moment, Checking)> = None;
    // A server which was up before this task ran is not overlooked.
    shared.stirred.notify_one();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tidying.tick() => {
                for member in &shared.roster.load().members {
                    member.runner.instances.sweep();
                    member.runner.roots.iter().for_each(Roots::sweep);
                }
            }
            Some((server, notification)) = updated.recv() => {
                let change: fn(ServerName, Arc<Notification>) -> Changed = match notification.method() {
                    method::TASK_STATUS => |server, notification| Changed::Task { server, notification },
                    method::RESOURCE_UPDATED => |server, notification| Changed::Resource { server, notification },
                    // Nothing tells for which of our clients it is.
                    _ => continue,
                };
                let _ = shared.changes.send(change(server, notification.into())); // nobody listening is fine
            }
            () = shared.stirred.notified(), if checking.is_none() => {
                let moment = Moment::now(&shared);
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
async fn finished(checking: &mut Option<(Moment, Checking)>) -> Vec<(Bytes, CheckedTool)> {
    match checking {
        // What a check that broke off did not find out is found out when the table is made.
        Some((_, checking)) => checking.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

/// The first table, of what was kept: clients who come before the servers are up see it.
pub(crate) fn first_look(shared: &Arc<Shared>) -> Vec<Part> {
    let mut parts = Vec::new();
    look(shared, Moment::now(shared), &mut parts, Vec::new());
    parts
}

fn look(shared: &Arc<Shared>, moment: Moment, parts: &mut Vec<Part>, checked: Vec<(Bytes, CheckedTool)>) {
    let Moment { roster, parts: now } = moment;
    let is_same =
        now.len() == parts.len() && now.iter().zip(&*parts).all(|(now, before)| now.is_same(before));
    if !is_same {
        make(shared, &roster, &now, checked);
        remember(shared, parts, &now);
        *parts = now;
    }
    shared.made_of.send_replace(MadeOf { roster: Some(roster), parts: parts.clone() });
}

fn make(shared: &Shared, roster: &Roster, parts: &[Part], checked: Vec<(Bytes, CheckedTool)>) {
    let offers: Vec<Offer> = parts
        .iter()
        .map(|part| Offer {
            server: part.member.handle().clone(),
            catalogue: if part.is_offered { part.catalogue.clone() } else { Arc::default() },
            tuning: part.member.tuning.clone(),
            is_kept: part.is_kept(),
        })
        .collect();
    let before = shared.table.load_full();
    let (table, changed) = before.next(&offers, shared.naming, checked);
    remark(&before, &table);
    for member in &roster.members {
        let flaws = table.quarantined.iter().filter(|flaw| flaw.server == member.name).count();
        let first = table.quarantined.iter().find(|flaw| flaw.server == member.name);
        let flaw = first.map(|first| {
            let more = if flaws > 1 { format!(", and {} more", flaws - 1) } else { String::new() };
            format!("the {} `{}` is not offered: {}{more}", first.kind, first.name, first.reason).into()
        });
        member.runner.badge.set_flaw(flaw);
    }
    shared.table.store(Arc::new(table));
    for member in &roster.members {
        shared.journal.state(&member.name, member.state());
    }
    for kind in changed {
        let _ = shared.changes.send(Changed::List(kind));
    }
}

/// Keeps what servers offer for another day, without what is wrong in it.
fn remember(shared: &Arc<Shared>, before: &[Part], now: &[Part]) {
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
fn fit(table: &Table, catalogue: &Arc<Catalogue>) -> Arc<Catalogue> {
    let tools = catalogue.list(Kind::Tools);
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
    let mut fit = Catalogue::clone(catalogue);
    fit.replace(Kind::Tools, tools.iter().filter_map(offered).collect());
    Arc::new(fit)
}

/// Writes what people should know about the offers of servers into the servers' logs, once.
fn remark(before: &Table, now: &Table) {
    for (server, remark) in &now.remarks {
        let is_known =
            |(other, known): &(UpstreamHandle, String)| other.name() == server.name() && known == remark;
        if !before.remarks.iter().any(is_known) {
            server.log().push(LogSource::Event, remark);
        }
    }
}
