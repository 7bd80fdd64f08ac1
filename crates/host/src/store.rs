//! What servers there should be, and making it so.
//!
//! [`Host::apply`] is given all servers that should be there and compares them with those that are: what is new is
//! started, what is gone is stopped, what is launched otherwise is replaced, and all else is left alone. A server that is
//! replaced or removed finishes the calls it has; new ones go to its successor at once.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::Instant;
use toolbay_config::{ServerConfig, Standing, Start, Tuning};
use toolbay_protocol::{Revision, ServerName};
use toolbay_upstream::{Catalogue, Counts, Settings, Source, StartPolicy, Status, UpstreamHandle, start};

use crate::{
    Absence, ConfigProblem, Connector, EventStream, Host, News, ServerState,
    host::{ConnectInRoot, Shared},
    instances::{Instances, roots::Roots},
    launch::{inherits_path, settings, source},
    roster::{Badge, Member, Roster, Runner, observer},
};

/// How long a server that is replaced or removed may take to finish its calls.
const DRAIN: Duration = Duration::from_secs(10);

/// What became of each server when a configuration was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// New ones.
    pub added: Vec<ServerName>,
    /// No longer wanted.
    pub removed: Vec<ServerName>,
    /// Replaced by one that is launched otherwise.
    pub replaced: Vec<ServerName>,
    /// Only presented otherwise, or switched on or off.
    pub adjusted: Vec<ServerName>,
}

/// One server at one moment.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// Its configured name.
    pub name: ServerName,
    /// Where it is in its life.
    pub state: ServerState,
    /// How it is reached.
    pub transport: &'static str,
    /// The protocol revision it speaks, once known.
    pub revision: Option<Revision>,
    /// Its process.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u64,
    /// Since when the server is in this state.
    pub since: Instant,
    /// How long its last start took.
    pub start_took: Option<Duration>,
    /// How many of its tools are not offered, because something is wrong with them or because its entry says so.
    pub withheld_tools: usize,
    /// What it offers, or did when it was last seen.
    pub catalogue: Arc<Catalogue>,
    /// What happened so far.
    pub counts: Counts,
    /// What was asked for; nothing for servers that the program itself brought.
    pub config: Option<Arc<ServerConfig>>,
}

impl ServerStatus {
    /// Why nothing of the server can be used now; nothing where it is up, or will be in a moment.
    pub fn absence(&self) -> Option<Absence> {
        Absence::of_server(&self.name, self.state.clone())
    }
}

/// Why something cannot be done with a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is none of that name.
    #[error("there is no server `{0}`")]
    Unknown(String),
    /// It must be switched on first.
    #[error("server `{0}` is disabled; enable it first")]
    Disabled(ServerName),
    /// It must be approved first.
    #[error("server `{0}` came with a project and needs your approval first")]
    Pending(ServerName),
}

/// Something to tell a server once everybody can see that it was decided.
pub(crate) enum Order {
    Start(UpstreamHandle),
    Rest(Arc<Runner>),
    Retire(Arc<Member>),
}

impl Host {
    /// Makes these the configured servers, in this order. Servers that the program itself brought stay.
    ///
    /// Returns once those that were switched off are gone and those that were switched on are on their way up. Those that
    /// were removed or replaced finish their calls in the background.
    pub async fn apply(&self, servers: &[ServerConfig]) -> Applied {
        let (applied, orders) = {
            let _one_at_a_time = self.shared.applying.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let old = self.shared.roster.load_full();
            let (members, applied, orders) = self.shared.reconcile(&old, servers);
            self.shared.roster.store(Arc::new(Roster::new(members)));
            (applied, orders)
        };
        self.shared.stirred.notify_one();
        self.obey(orders).await;
        if applied != Applied::default() {
            self.shared.journal.note(News::Applied(Arc::new(applied.clone())));
        }
        applied
    }

    /// Tells whoever listens that a configuration cannot be used. [`Host::config_problems`] says so until [`Host::accept`].
    pub fn reject(&self, problems: &[ConfigProblem]) {
        self.shared.journal.judged(Some(problems.into()));
    }

    /// Tells whoever listens that the configuration can be used again.
    pub fn accept(&self) {
        self.shared.journal.judged(None);
    }

    /// Why the configuration as it stands now cannot be used, if so; servers run with what was there before.
    pub fn config_problems(&self) -> Arc<[ConfigProblem]> {
        self.shared.journal.rejected().unwrap_or_default()
    }

    /// What happens to servers from now on.
    pub fn events(&self) -> EventStream {
        self.shared.journal.listen()
    }

    /// The number of the last event.
    pub fn revision(&self) -> u64 {
        self.shared.journal.revision()
    }

    /// One server now.
    pub fn status(&self, name: &str) -> Option<ServerStatus> {
        self.shared.roster.load().get(name).map(|member| self.status_of(member))
    }

    /// All servers now, in the order of the configuration.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.shared.roster.load().members.iter().map(|member| self.status_of(member)).collect()
    }

    /// Those that answer calls now.
    pub fn running(&self) -> Vec<ServerStatus> {
        self.statuses().into_iter().filter(|status| status.state.is_up()).collect()
    }

    /// Starts a server that is down. Returns once it is on its way up; [`Host::wait_for`] waits for the rest.
    pub async fn start_server(&self, name: &str) -> Result<(), StoreError> {
        self.may_run(name)?.handle().start().await;
        Ok(())
    }

    /// Stops a server until somebody starts it again. Returns once its processes are gone and what it offers is no longer
    /// listed.
    pub async fn stop_server(&self, name: &str) -> Result<(), StoreError> {
        let member = self.member(name)?;
        self.obey(vec![Order::Rest(member.runner.clone())]).await;
        self.table_follows().await;
        Ok(())
    }

    /// Stops a server and starts it anew, with a clean record. Returns once the old process is gone and the new one is being
    /// started; [`Host::wait_for`] then waits for the new one.
    pub async fn restart_server(&self, name: &str) -> Result<(), StoreError> {
        let member = self.may_run(name)?;
        tokio::join!(member.handle().restart(), member.runner.instances.stop_extra());
        Ok(())
    }

    /// Switches a server on, whether it was switched off or never approved of. Returns once it is on its way up.
    pub async fn enable_server(&self, name: &str) -> Result<(), StoreError> {
        self.stand(name, Standing::Enabled).await
    }

    /// Switches a server off. Returns once its processes are gone and what it offers is no longer listed.
    pub async fn disable_server(&self, name: &str) -> Result<(), StoreError> {
        self.stand(name, Standing::Disabled).await
    }

    /// Waits until a server is up, or known not to come up, and says where it is then.
    pub async fn wait_for(&self, name: &str) -> Result<ServerState, StoreError> {
        let handle = self.member(name)?.handle().clone();
        self.settled_among(&[handle]).await;
        Ok(self.member(name)?.state())
    }

    fn status_of(&self, member: &Member) -> ServerStatus {
        member.status(self.peek_table().withheld_tools(member.name.as_str()))
    }

    async fn stand(&self, name: &str, standing: Standing) -> Result<(), StoreError> {
        let member = self.member(name)?;
        if let Some(order) = self.shared.turn(&member, standing) {
            self.obey(vec![order]).await;
            self.table_follows().await;
        }
        Ok(())
    }

    pub(crate) fn member(&self, name: &str) -> Result<Arc<Member>, StoreError> {
        self.shared.roster.load().get(name).cloned().ok_or_else(|| StoreError::Unknown(name.to_owned()))
    }

    fn may_run(&self, name: &str) -> Result<Arc<Member>, StoreError> {
        let member = self.member(name)?;
        match member.runner.badge.standing() {
            Standing::Enabled => Ok(member),
            Standing::Disabled => Err(StoreError::Disabled(member.name.clone())),
            Standing::Pending => Err(StoreError::Pending(member.name.clone())),
        }
    }

    pub(crate) async fn obey(&self, orders: Vec<Order>) {
        let obeyed = orders.into_iter().map(async |order| match order {
            Order::Start(handle) => handle.start().await,
            Order::Rest(runner) => {
                tokio::join!(runner.handle.rest(), runner.instances.stop_extra());
            }
            Order::Retire(member) => {
                let over = self.shared.stop.clone();
                self.shared.tasks.spawn(async move {
                    member.runner.instances.retire(DRAIN, over).await;
                });
            }
        });
        join_all(obeyed).await;
    }
}

impl Shared {
    /// What the roster should be, and what is to be told to whom.
    fn reconcile(&self, old: &Roster, servers: &[ServerConfig]) -> (Vec<Arc<Member>>, Applied, Vec<Order>) {
        let (mut applied, mut orders) = (Applied::default(), Vec::new());
        let mut members: Vec<Arc<Member>> =
            old.members.iter().filter(|member| member.config.is_none()).cloned().collect();
        for config in servers {
            let name = &config.name;
            if members.iter().any(|member| member.name == *name) {
                continue; // the first of a name counts
            }
            let known = old.get(name.as_str());
            members.push(match known.and_then(|member| Some((member, member.config.as_deref()?))) {
                Some((member, before)) if before == config => member.clone(),
                Some((member, before)) if is_same_launch(before, config) => {
                    applied.adjusted.push(name.clone());
                    if before.standing != config.standing {
                        orders.extend(self.turn(member, config.standing));
                    }
                    Arc::new(Member {
                        name: name.clone(),
                        tuning: Arc::new(config.tuning.clone()),
                        config: Some(Arc::new(config.clone())),
                        runner: member.runner.clone(),
                    })
                }
                Some((member, _)) => {
                    applied.replaced.push(name.clone());
                    let (successor, order) = self.succeed_with(member, config);
                    orders.push(order);
                    successor
                }
                None => {
                    applied.added.push(name.clone());
                    self.admit(config, None)
                }
            });
        }
        for member in &old.members {
            if !members.iter().any(|other| other.name == member.name) {
                applied.removed.push(member.name.clone());
                member.runner.badge.retire();
                self.journal.removed(&member.name);
                orders.push(Order::Retire(member.clone()));
            }
        }
        (members, applied, orders)
    }

    /// A successor for a server, and what the server must be told.
    pub(crate) fn succeed(&self, member: &Arc<Member>) -> (Arc<Member>, Order) {
        match member.config.as_deref() {
            Some(config) => self.succeed_with(member, config),
            None => (member.clone(), Order::Start(member.handle().clone())),
        }
    }

    fn succeed_with(&self, member: &Arc<Member>, config: &ServerConfig) -> (Arc<Member>, Order) {
        let seen = member.handle().status().borrow().catalogue.clone();
        member.runner.badge.retire();
        (self.admit(config, Some(seen)), Order::Retire(member.clone()))
    }

    /// Switches a server on or off; gives what it must be told, if it must.
    fn turn(&self, member: &Member, standing: Standing) -> Option<Order> {
        let runner = &member.runner;
        let before = runner.badge.standing();
        if before == standing {
            return None;
        }
        runner.badge.set_standing(standing);
        match (before, standing) {
            (_, Standing::Enabled) => Some(Order::Start(runner.handle.clone())),
            (Standing::Enabled, _) => Some(Order::Rest(runner.clone())),
            _ => {
                // It was down and stays so: nobody else will tell of it.
                self.journal.state(&member.name, member.state());
                None
            }
        }
    }

    /// Takes in a configured server. `seen` is what its predecessor offered.
    pub(crate) fn admit(&self, config: &ServerConfig, seen: Option<Arc<Catalogue>>) -> Arc<Member> {
        let config = Arc::new(config.clone());
        let kept = match seen {
            Some(_) => None,
            None => self.cache.as_ref().and_then(|cache| cache.load(&config)),
        };
        let settings = Settings {
            start: match (config.standing, config.tuning.start) {
                (Standing::Enabled, Start::Eager) => StartPolicy::Eager,
                (Standing::Enabled, Start::OnDemand) => StartPolicy::OnDemand,
                (Standing::Disabled | Standing::Pending, _) => StartPolicy::Off,
            },
            known: seen.or_else(|| kept.clone()).unwrap_or_default(),
            path: self.path.clone().filter(|_| inherits_path(&self.base_env, &config)),
            chain: self.chain.clone(),
            ..settings(&config)
        };
        let connected = self.connector.as_ref().and_then(|connector| connector.connect(&config));
        let source =
            connected.unwrap_or_else(|| source(&config, &self.base_env, &self.shim, self.chain.as_ref()));
        let source = self.with_credentials(&config.name, source);
        let tuning = Arc::new(config.tuning.clone());
        let in_root = self.connector.as_ref().and_then(Connector::in_root);
        let bound = in_root.map(|in_root| (in_root, config.clone()));
        let runner = self.run(settings, source, config.standing, &tuning, kept, bound);
        Arc::new(Member { name: config.name.clone(), config: Some(config), tuning, runner })
    }

    /// Takes in a server that the program itself brought.
    pub(crate) fn embed(&self, name: ServerName, source: Source) -> Arc<Member> {
        let tuning = Arc::new(Tuning::default());
        let runner = self.run(Settings::new(name.clone()), source, Standing::Enabled, &tuning, None, None);
        Arc::new(Member { name, config: None, tuning, runner })
    }

    fn run(
        &self,
        settings: Settings,
        source: Source,
        standing: Standing,
        tuning: &Tuning,
        kept: Option<Arc<Catalogue>>,
        bound: Option<(Arc<ConnectInRoot>, Arc<ServerConfig>)>,
    ) -> Arc<Runner> {
        let settings = Settings {
            turn: self.turn.clone(),
            budget: self.budget.clone(),
            capture: self.capture.clone(),
            ..settings
        };
        let badge = Badge::new(standing);
        let observer = observer(badge.clone(), self.journal.clone(), self.stirred.clone());
        let (updates, tasks) = (self.updates.clone(), self.tasks.clone());
        let first = Settings { observer: Some(observer), ..settings.clone() };
        let handle = start(first, source.clone(), updates.clone(), &tasks);
        // Only the first process of a server speaks for it; the others are there because they were called.
        let more = Settings { start: StartPolicy::Eager, idle_stop: None, ..settings };
        let roots = bound.map(|(connect, config)| {
            let (more, updates, tasks) = (more.clone(), updates.clone(), tasks.clone());
            Roots::new(Arc::new(move |root| {
                Some(start(more.clone(), connect(&config, root)?, updates.clone(), &tasks))
            }))
        });
        let another = Arc::new(move || start(more.clone(), source.clone(), updates.clone(), &tasks));
        let instances = Instances::new(tuning.instances, handle.clone(), another);
        Arc::new(Runner { handle, instances, roots, badge, kept })
    }
}

impl Member {
    pub(crate) fn state(&self) -> ServerState {
        let badge = &self.runner.badge;
        ServerState::of(badge, &self.handle().status().borrow())
    }

    fn status(&self, withheld_tools: usize) -> ServerStatus {
        let state = self.state();
        let status = self.handle().status();
        let Status { transport, revision, pid, starts, since, start_took, catalogue, .. } = &*status.borrow();
        ServerStatus {
            name: self.name.clone(),
            state,
            transport,
            revision: *revision,
            pid: *pid,
            starts: *starts,
            since: *since,
            start_took: *start_took,
            withheld_tools,
            catalogue: catalogue.clone(),
            counts: self.handle().counts(),
            config: self.config.clone(),
        }
    }
}

/// Whether two configurations of a server differ at most in whether it may run and how its offers are presented.
fn is_same_launch(before: &ServerConfig, now: &ServerConfig) -> bool {
    let Tuning { tools, tool, validate, .. } = &now.tuning;
    let tuning =
        Tuning { tools: tools.clone(), tool: tool.clone(), validate: *validate, ..before.tuning.clone() };
    now.reach == before.reach && now.tuning == tuning
}
