//! Keeping the table.

use std::sync::Arc;

use tokio::{
    sync::mpsc,
    time::{Duration, interval},
};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_upstream::{Catalogue, Kind, LogSource, UpstreamHandle};

use crate::{
    Changed, Offer, Table,
    host::{MadeOf, Shared},
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

/// Makes the table anew whenever something about servers changes, and says what changed in it.
pub(crate) async fn keep_table(
    shared: Arc<Shared>,
    mut parts: Vec<Part>,
    mut updated: mpsc::Receiver<(ServerName, Box<Notification>)>,
) {
    let mut tidying = interval(TIDYING);
    // A server which was up before this task ran is not overlooked.
    shared.stirred.notify_one();
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tidying.tick() => {
                shared.roster.load().members.iter().for_each(|member| member.runner.instances.sweep());
            }
            Some((server, notification)) = updated.recv() => {
                let is_task = notification.method() == method::TASK_STATUS;
                let notification = Arc::from(notification);
                // Nobody listening is fine.
                let _ = shared.changes.send(match is_task {
                    true => Changed::Task { server, notification },
                    false => Changed::Resource { server, notification },
                });
            }
            () = shared.stirred.notified() => look(&shared, &mut parts),
        }
    }
}

/// The first table, of what was kept: clients who come before the servers are up see it.
pub(crate) fn first_look(shared: &Arc<Shared>) -> Vec<Part> {
    let mut parts = Vec::new();
    look(shared, &mut parts);
    parts
}

fn look(shared: &Arc<Shared>, parts: &mut Vec<Part>) {
    let roster = shared.roster.load_full();
    let now: Vec<Part> = roster.members.iter().map(Part::of).collect();
    let is_same =
        now.len() == parts.len() && now.iter().zip(&*parts).all(|(now, before)| now.is_same(before));
    if !is_same {
        make(shared, &roster, &now);
        remember(shared, parts, &now);
        *parts = now;
    }
    shared.made_of.send_replace(MadeOf { roster: Some(roster), parts: parts.clone() });
}

fn make(shared: &Shared, roster: &Roster, parts: &[Part]) {
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
    let (table, changed) = before.next(&offers, shared.naming);
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

fn fit(table: &Table, catalogue: &Arc<Catalogue>) -> Arc<Catalogue> {
    let tools = catalogue.list(Kind::Tools);
    if !tools.iter().any(|tool| table.is_unfit(tool)) {
        return catalogue.clone();
    }
    let mut fit = Catalogue::clone(catalogue);
    fit.replace(Kind::Tools, tools.iter().filter(|tool| !table.is_unfit(tool)).cloned().collect());
    Arc::new(fit)
}

/// Writes what servers should know about their offers into their logs, once.
fn remark(before: &Table, now: &Table) {
    for (server, remark) in &now.remarks {
        let is_known =
            |(other, known): &(UpstreamHandle, String)| other.name() == server.name() && known == remark;
        if !before.remarks.iter().any(is_known) {
            server.log().push(LogSource::Event, remark);
        }
    }
}
