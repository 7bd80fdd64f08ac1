//! The host.

use std::{collections::BTreeMap, ffi::OsString, fmt, sync::Arc};

use arc_swap::ArcSwap;
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_config::{ServerConfig, Standing, Validate};
use toolbay_protocol::{Notification, ServerName, method};
use toolbay_transport::Wire;
use toolbay_upstream::{
    Catalogue, Kind, LogSource, Owner, Settings, Shim, Source, Status, UpstreamHandle, start,
};

use crate::{
    Changed, Changes, Naming, Offer, Table,
    arrival::is_starting,
    instances::{Instances, Lease, StartAnother},
    launch::{settings, source},
    registry::slugs,
};

/// How many changes a reader may fall behind.
const CHANGES: usize = 256;

/// How often what nobody uses any more is looked for.
const TIDYING: Duration = Duration::from_secs(60);

/// A server of our own that runs in this process; called anew for each of its lives.
pub type InProcess = Arc<dyn Fn(&TaskTracker) -> Wire + Send + Sync>;

/// What a host needs besides its servers.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// How names are made.
    pub naming: Naming,
    /// What every server inherits.
    pub base_env: BTreeMap<OsString, OsString>,
    /// How process trees are kept together.
    pub shim: Shim,
}

/// Many servers as one. Clones are cheap and mean the same host.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

struct Shared {
    servers: Vec<Member>,
    table: ArcSwap<Table>,
    /// What the table was made of, one catalogue per server.
    made_of: watch::Sender<Vec<Arc<Catalogue>>>,
    changes: broadcast::Sender<Changed>,
    naming: Naming,
    stop: CancellationToken,
    tasks: TaskTracker,
}

struct Member {
    handle: UpstreamHandle,
    instances: Instances,
    /// What the names of its offers begin with.
    slug: String,
    validate: Validate,
}

impl Host {
    /// Starts all servers at once, in the background, and gives the host before any of them is up.
    pub fn start(
        servers: &[ServerConfig],
        in_process: Vec<(ServerName, InProcess)>,
        options: &HostOptions,
    ) -> Self {
        let embedded = in_process.into_iter().map(|(name, connect)| (name, Source::InProcess(connect)));
        Self::start_with(servers, embedded.collect(), options)
    }

    /// As [`Host::start`], with servers that no configuration can name: in this process, or behind a transport of one's own
    /// ([`Source::Custom`]).
    pub fn start_with(
        servers: &[ServerConfig],
        embedded: Vec<(ServerName, Source)>,
        options: &HostOptions,
    ) -> Self {
        let tasks = TaskTracker::new();
        let (updates, updated) = mpsc::channel(CHANGES);
        let servers: Vec<_> = servers.iter().filter(|config| config.standing == Standing::Enabled).collect();
        let names = embedded.iter().map(|(name, _)| name).chain(servers.iter().map(|config| &config.name));
        let mut slugs = slugs(&names.cloned().collect::<Vec<_>>()).into_iter();
        let mut slug = || slugs.next().unwrap_or_default();
        let mut members = Vec::new();
        let mut add = |settings: Settings, source: Source, validate| {
            let (updates, tasks) = (updates.clone(), tasks.clone());
            let another: StartAnother =
                Arc::new(move || start(settings.clone(), source.clone(), updates.clone(), &tasks));
            let handle = another();
            let instances = Instances::new(handle.clone(), another);
            members.push(Member { handle, instances, slug: slug(), validate });
        };
        for (name, source) in embedded {
            add(Settings::new(name), source, Validate::Enforce);
        }
        for config in servers {
            let source = source(config, &options.base_env, &options.shim);
            add(settings(config), source, config.tuning.validate);
        }
        let shared = Arc::new(Shared {
            servers: members,
            table: ArcSwap::default(),
            made_of: watch::Sender::default(),
            changes: broadcast::Sender::new(CHANGES),
            naming: options.naming,
            stop: CancellationToken::new(),
            tasks: tasks.clone(),
        });
        tasks.spawn(keep_table(shared.clone(), updated));
        Self { shared }
    }

    /// What all servers offer now.
    pub fn table(&self) -> Arc<Table> {
        self.shared.table.load_full()
    }

    /// As [`Host::table`], for a moment only: cheaper where one look is enough.
    pub(crate) fn peek_table(&self) -> arc_swap::Guard<Arc<Table>> {
        self.shared.table.load()
    }

    /// What changes from now on.
    pub fn changes(&self) -> Changes {
        self.shared.changes.subscribe()
    }

    /// All servers, in the order of the configuration.
    pub fn servers(&self) -> Vec<UpstreamHandle> {
        self.shared.servers.iter().map(|member| member.handle.clone()).collect()
    }

    /// The server of that name.
    pub fn server(&self, name: &str) -> Option<UpstreamHandle> {
        self.servers().into_iter().find(|server| server.name().as_str() == name)
    }

    /// Whether any server is still on its way up for the first time.
    pub fn is_starting(&self) -> bool {
        self.shared.servers.iter().any(|member| is_starting(&member.handle.status().borrow()))
    }

    /// The server whose offers begin with that slug.
    pub(crate) fn by_slug(&self, slug: &str) -> Option<&UpstreamHandle> {
        self.shared.servers.iter().find(|member| member.slug == slug).map(|member| &member.handle)
    }

    /// The process of a server that a call of `owner` goes to.
    pub(crate) fn instance(&self, server: &UpstreamHandle, owner: Owner) -> (UpstreamHandle, Option<Lease>) {
        if server.asks_clients()
            && let Some(member) =
                self.shared.servers.iter().find(|member| member.handle.name() == server.name())
        {
            return member.instances.lease(owner);
        }
        (server.clone(), None)
    }

    /// Whether calls may name tools and prompts as their servers do.
    pub(crate) fn has_bare_names(&self) -> bool {
        self.shared.naming != Naming::Prefix
    }

    /// Waits until no server is on its way up any more: each is ready, or known not to be.
    pub async fn settled(&self) {
        self.settled_among(&self.servers()).await;
    }

    /// As [`Host::settled`], for some servers only.
    pub(crate) async fn settled_among(&self, awaited: &[UpstreamHandle]) {
        for server in awaited {
            // The watch ends only with the server, which then is as settled as can be.
            let _ = server.status().wait_for(|status| !is_starting(status)).await;
        }
        let servers = self.servers();
        // The table follows the last status in a moment.
        let mut made_of = self.shared.made_of.subscribe();
        let follows = |made_of: &Vec<Arc<Catalogue>>| {
            let is_newest = |(server, known): (&UpstreamHandle, &Arc<Catalogue>)| {
                Arc::ptr_eq(&server.status().borrow().catalogue, known)
            };
            made_of.len() == servers.len() && servers.iter().zip(made_of).all(is_newest)
        };
        tokio::select! {
            _ = made_of.wait_for(follows) => {}
            () = self.shared.stop.cancelled() => {}
        }
    }

    /// Tasks of whoever serves this host; they end with it.
    pub fn tasks(&self) -> &TaskTracker {
        &self.shared.tasks
    }

    /// Stops every server and waits until all are gone, but no longer than `patience`.
    pub async fn stop(&self, patience: Duration) {
        self.shared.stop.cancel();
        for member in &self.shared.servers {
            member.instances.stop();
        }
        self.shared.tasks.close();
        if tokio::time::timeout(patience, self.shared.tasks.wait()).await.is_err() {
            tracing::warn!("some tasks did not end in time");
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("servers", &self.shared.servers.len()).finish_non_exhaustive()
    }
}

/// Makes the table anew whenever a server's lists change, and says what changed.
async fn keep_table(shared: Arc<Shared>, mut updated: mpsc::Receiver<(ServerName, Box<Notification>)>) {
    let mut statuses: Vec<watch::Receiver<Status>> =
        shared.servers.iter().map(|member| member.handle.status()).collect();
    // Nothing is known at first, so that a server which was up before this task ran is not overlooked.
    let mut known: Vec<Arc<Catalogue>> = statuses.iter().map(|_| Arc::default()).collect();
    statuses.iter_mut().for_each(watch::Receiver::mark_changed);
    let mut versions = [0; 4];
    let mut tidying = tokio::time::interval(TIDYING);
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            _ = tidying.tick() => shared.servers.iter().for_each(|member| member.instances.sweep()),
            Some((server, notification)) = updated.recv() => {
                let is_task = notification.method() == method::TASK_STATUS;
                let notification = Arc::from(notification);
                // Nobody listening is fine.
                let _ = shared.changes.send(match is_task {
                    true => Changed::Task { server, notification },
                    false => Changed::Resource { server, notification },
                });
            }
            index = any_changed(&mut statuses) => {
                let catalogue = statuses[index].borrow_and_update().catalogue.clone();
                if Arc::ptr_eq(&catalogue, &known[index]) {
                    continue;
                }
                let before = std::mem::replace(&mut known[index], catalogue);
                let changed: Vec<Kind> =
                    Kind::ALL.into_iter().filter(|kind| before.list(*kind) != known[index].list(*kind)).collect();
                for kind in &changed {
                    versions[*kind as usize] += 1;
                }
                let offers: Vec<Offer> = shared
                    .servers
                    .iter()
                    .zip(&known)
                    .map(|(member, catalogue)| Offer {
                        server: member.handle.clone(),
                        catalogue: catalogue.clone(),
                        validate: member.validate,
                    })
                    .collect();
                let table = Table::new(&offers, shared.naming, versions);
                remark(&shared.table.load(), &table);
                shared.table.store(Arc::new(table));
                shared.made_of.send_replace(known.clone());
                for kind in changed {
                    let _ = shared.changes.send(Changed::List(kind));
                }
            }
        }
    }
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

/// The index of a status that changed. Statuses that ended never change again.
async fn any_changed(statuses: &mut [watch::Receiver<Status>]) -> usize {
    use std::{future::poll_fn, pin::pin, task::Poll};
    let mut waits: Vec<_> = statuses
        .iter_mut()
        .enumerate()
        .map(|(index, status)| {
            Box::pin(async move {
                if status.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                index
            })
        })
        .collect();
    poll_fn(|context| {
        for wait in &mut waits {
            if let Poll::Ready(index) = pin!(wait).poll(context) {
                return Poll::Ready(index);
            }
        }
        Poll::Pending
    })
    .await
}
