//! What servers there should be, and making it so.
//!
//! [`Host::apply`] is given all servers that should be there and compares them with those that are: what is new is
//! started, what is gone is stopped, what is launched otherwise is replaced, and all else is left alone. A server that is
//! replaced or removed finishes the calls it has; new ones go to its successor at once.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::Instant;
use toolbay_config::{Permission, ServerConfig, ServerOptions, Start};
use toolbay_protocol::{Revision, ServerName};
use toolbay_upstream::{
    Catalog, Counts, Endpoint, ServerHandle, ServerSettings, StartPolicy, UpstreamStatus, start,
};

use crate::{
    ConfigProblem, Connector, Host, HostEventKind, HostEvents, ServerState, Unavailable,
    host::{ConnectInRoot, HostInner},
    servers::{
        instances::{Instances, roots::RootInstances},
        launch::{inherits_path, server_endpoint, server_settings},
        registry::{RegisteredServer, ServerRegistry, ServerRunner, StatusContext, observer},
    },
};

/// How long a server that is replaced or removed may take to finish its calls.
const DRAIN: Duration = Duration::from_secs(10);

/// What became of each server when a configuration was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyReport {
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
    pub catalog: Arc<Catalog>,
    /// What happened so far.
    pub counts: Counts,
    /// What was asked for; nothing for servers that the program itself brought.
    pub config: Option<Arc<ServerConfig>>,
}

impl ServerStatus {
    /// Why nothing of the server can be used now; nothing where it is up, or will be in a moment.
    pub fn absence(&self) -> Option<Unavailable> {
        Unavailable::of_server(&self.name, self.state.clone())
    }
}

/// Why something cannot be done with a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// There is none of that name.
    #[error("no server named `{0}`")]
    Unknown(String),
    /// It must be switched on first.
    #[error("server `{0}` is disabled; enable it first")]
    Disabled(ServerName),
    /// It must be approved first.
    #[error("server `{0}` came with a project and needs your approval first")]
    Pending(ServerName),
}

/// Something to tell a server once everybody can see that it was decided.
pub(crate) enum ServerCommand {
    Start(ServerHandle),
    Rest(Arc<ServerRunner>),
    Retire(Arc<RegisteredServer>),
}

impl Host {
    /// Makes these the configured servers, in this order. Servers that the program itself brought stay.
    ///
    /// Returns once those that were switched off are gone and those that were switched on are on their way up. Those that
    /// were removed or replaced finish their calls in the background.
    pub async fn apply(&self, servers: &[ServerConfig]) -> ApplyReport {
        let (applied, orders) = {
            let _one_at_a_time = self.shared.applying.lock();
            let old = self.shared.servers.load_full();
            let (members, applied, orders) = self.shared.reconcile(&old, servers);
            self.shared.servers.store(Arc::new(ServerRegistry::new(members)));
            (applied, orders)
        };
        self.shared.stirred.notify_one();
        self.execute(orders).await;
        if applied != ApplyReport::default() {
            self.shared.events.note(HostEventKind::Applied(Arc::new(applied.clone())));
        }
        applied
    }

    /// Tells whoever listens that a configuration cannot be used. [`Host::config_problems`] says so until [`Host::accept`].
    pub fn reject(&self, problems: &[ConfigProblem]) {
        self.shared.events.judged(Some(problems.into()));
    }

    /// Tells whoever listens that the configuration can be used again.
    pub fn accept(&self) {
        self.shared.events.judged(None);
    }

    /// Why the configuration as it stands now cannot be used, if so; servers run with what was there before.
    pub fn config_problems(&self) -> Arc<[ConfigProblem]> {
        self.shared.events.rejected().unwrap_or_default()
    }

    /// What happens to servers from now on.
    pub fn events(&self) -> HostEvents {
        self.shared.events.listen()
    }

    /// The number of the last event.
    pub fn revision(&self) -> u64 {
        self.shared.events.revision()
    }

    /// One server now.
    pub fn status(&self, name: &str) -> Option<ServerStatus> {
        self.shared.servers.load().get(name).map(|member| self.status_of(member))
    }

    /// All servers now, in the order of the configuration.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.shared.servers.load().servers.iter().map(|member| self.status_of(member)).collect()
    }

    /// Those that answer calls now.
    pub fn running(&self) -> Vec<ServerStatus> {
        self.statuses().into_iter().filter(|status| status.state.is_up()).collect()
    }

    /// Starts a server that is down. Returns once it is on its way up; [`Host::wait_for`] waits for the rest.
    pub async fn start_server(&self, name: &str) -> Result<(), ServerError> {
        self.may_run(name)?.handle().start().await;
        Ok(())
    }

    /// Stops a server until somebody starts it again. Returns once its processes are gone and what it offers is no longer
    /// listed.
    pub async fn stop_server(&self, name: &str) -> Result<(), ServerError> {
        let member = self.member(name)?;
        self.execute(vec![ServerCommand::Rest(member.runner.clone())]).await;
        self.table_follows().await;
        Ok(())
    }

    /// Stops a server and starts it anew, with a clean record. Returns once the old process is gone and the new one is being
    /// started; [`Host::wait_for`] then waits for the new one.
    pub async fn restart_server(&self, name: &str) -> Result<(), ServerError> {
        let member = self.may_run(name)?;
        tokio::join!(member.handle().restart(), member.runner.instances.stop_extra());
        Ok(())
    }

    /// Switches a server on, whether it was switched off or never approved of. Returns once it is on its way up.
    pub async fn enable_server(&self, name: &str) -> Result<(), ServerError> {
        self.stand(name, Permission::Enabled).await
    }

    /// Switches a server off. Returns once its processes are gone and what it offers is no longer listed.
    pub async fn disable_server(&self, name: &str) -> Result<(), ServerError> {
        self.stand(name, Permission::Disabled).await
    }

    /// Waits until a server is up, or known not to come up, and says where it is then.
    pub async fn wait_for(&self, name: &str) -> Result<ServerState, ServerError> {
        let handle = self.member(name)?.handle().clone();
        self.settled_among(&[handle]).await;
        Ok(self.member(name)?.state())
    }

    fn status_of(&self, member: &RegisteredServer) -> ServerStatus {
        member.status(self.peek_table().withheld_tools(member.name.as_str()))
    }

    async fn stand(&self, name: &str, standing: Permission) -> Result<(), ServerError> {
        let member = self.member(name)?;
        if let Some(order) = self.shared.turn(&member, standing) {
            self.execute(vec![order]).await;
            self.table_follows().await;
        }
        Ok(())
    }

    pub(crate) fn member(&self, name: &str) -> Result<Arc<RegisteredServer>, ServerError> {
        self.shared.servers.load().get(name).cloned().ok_or_else(|| ServerError::Unknown(name.to_owned()))
    }

    fn may_run(&self, name: &str) -> Result<Arc<RegisteredServer>, ServerError> {
        let member = self.member(name)?;
        match member.runner.status_context.permission() {
            Permission::Enabled => Ok(member),
            Permission::Disabled => Err(ServerError::Disabled(member.name.clone())),
            Permission::Pending => Err(ServerError::Pending(member.name.clone())),
        }
    }

    pub(crate) async fn execute(&self, orders: Vec<ServerCommand>) {
        let obeyed = orders.into_iter().map(async |order| match order {
            ServerCommand::Start(handle) => handle.start().await,
            ServerCommand::Rest(runner) => {
                tokio::join!(runner.handle.stop_until_started(), runner.instances.stop_extra());
            }
            ServerCommand::Retire(member) => {
                let over = self.shared.stop.clone();
                self.shared.tasks.spawn(async move {
                    member.runner.instances.drain(DRAIN, over).await;
                });
            }
        });
        join_all(obeyed).await;
    }
}

impl HostInner {
    /// What the roster should be, and what is to be told to whom.
    fn reconcile(
        &self,
        old: &ServerRegistry,
        servers: &[ServerConfig],
    ) -> (Vec<Arc<RegisteredServer>>, ApplyReport, Vec<ServerCommand>) {
        let (mut applied, mut orders) = (ApplyReport::default(), Vec::new());
        let mut members: Vec<Arc<RegisteredServer>> =
            old.servers.iter().filter(|member| member.config.is_none()).cloned().collect();
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
                    if before.permission != config.permission {
                        orders.extend(self.turn(member, config.permission));
                    }
                    Arc::new(RegisteredServer {
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
        for member in &old.servers {
            if !members.iter().any(|other| other.name == member.name) {
                applied.removed.push(member.name.clone());
                member.runner.status_context.drain();
                self.events.removed(&member.name);
                orders.push(ServerCommand::Retire(member.clone()));
            }
        }
        (members, applied, orders)
    }

    /// A successor for a server, and what the server must be told.
    pub(crate) fn succeed(&self, member: &Arc<RegisteredServer>) -> (Arc<RegisteredServer>, ServerCommand) {
        match member.config.as_deref() {
            Some(config) => self.succeed_with(member, config),
            None => (member.clone(), ServerCommand::Start(member.handle().clone())),
        }
    }

    fn succeed_with(
        &self,
        member: &Arc<RegisteredServer>,
        config: &ServerConfig,
    ) -> (Arc<RegisteredServer>, ServerCommand) {
        let seen = member.handle().status().borrow().catalog.clone();
        member.runner.status_context.drain();
        (self.admit(config, Some(seen)), ServerCommand::Retire(member.clone()))
    }

    /// Switches a server on or off; gives what it must be told, if it must.
    fn turn(&self, member: &RegisteredServer, standing: Permission) -> Option<ServerCommand> {
        let runner = &member.runner;
        let before = runner.status_context.permission();
        if before == standing {
            return None;
        }
        runner.status_context.set_permission(standing);
        match (before, standing) {
            (_, Permission::Enabled) => Some(ServerCommand::Start(runner.handle.clone())),
            (Permission::Enabled, _) => Some(ServerCommand::Rest(runner.clone())),
            _ => {
                // It was down and stays so: nobody else will tell of it.
                self.events.state(&member.name, member.state());
                None
            }
        }
    }

    /// Takes in a configured server. `seen` is what its predecessor offered.
    pub(crate) fn admit(&self, config: &ServerConfig, seen: Option<Arc<Catalog>>) -> Arc<RegisteredServer> {
        let config = Arc::new(config.clone());
        let kept = match seen {
            Some(_) => None,
            None => self.cache.as_ref().and_then(|cache| cache.load(&config)),
        };
        let settings = ServerSettings {
            start: match (config.permission, config.tuning.start) {
                (Permission::Enabled, Start::Eager) => StartPolicy::Eager,
                (Permission::Enabled, Start::OnDemand) => StartPolicy::OnDemand,
                (Permission::Disabled | Permission::Pending, _) => StartPolicy::Off,
            },
            known: seen.or_else(|| kept.clone()).unwrap_or_default(),
            path: self.path.clone().filter(|_| inherits_path(&self.base_env, &config)),
            chain: self.chain.clone(),
            client: self.client.clone(),
            ..server_settings(&config)
        };
        let connected = self.connector.as_ref().and_then(|connector| connector.connect(&config));
        let source = connected
            .unwrap_or_else(|| server_endpoint(&config, &self.base_env, &self.shim, self.chain.as_ref()));
        let source = self.with_credentials(&config.name, source);
        let tuning = Arc::new(config.tuning.clone());
        let in_root = self.connector.as_ref().and_then(Connector::in_root);
        let bound = in_root.map(|in_root| (in_root, config.clone()));
        let runner = self.run(settings, source, config.permission, &tuning, kept, bound);
        Arc::new(RegisteredServer { name: config.name.clone(), config: Some(config), tuning, runner })
    }

    /// Takes in a server that the program itself brought.
    pub(crate) fn embed(&self, name: ServerName, source: Endpoint) -> Arc<RegisteredServer> {
        let tuning = Arc::new(ServerOptions::default());
        let settings = ServerSettings { client: self.client.clone(), ..ServerSettings::new(name.clone()) };
        let runner = self.run(settings, source, Permission::Enabled, &tuning, None, None);
        Arc::new(RegisteredServer { name, config: None, tuning, runner })
    }

    fn run(
        &self,
        settings: ServerSettings,
        source: Endpoint,
        standing: Permission,
        tuning: &ServerOptions,
        kept: Option<Arc<Catalog>>,
        bound: Option<(Arc<ConnectInRoot>, Arc<ServerConfig>)>,
    ) -> Arc<ServerRunner> {
        let settings = ServerSettings {
            start_gate: self.start_gate.clone(),
            budget: self.budget.clone(),
            capture: self.capture.clone(),
            ..settings
        };
        let badge = StatusContext::new(standing);
        let observer = observer(badge.clone(), self.events.clone(), self.stirred.clone());
        let (updates, tasks) = (self.updates.clone(), self.tasks.clone());
        let first = ServerSettings { observer: Some(observer), ..settings.clone() };
        let handle = start(first, source.clone(), updates.clone(), &tasks);
        // Only the first process of a server speaks for it; the others are there because they were called.
        let more = ServerSettings { start: StartPolicy::Eager, idle_stop: None, ..settings };
        let roots = bound.map(|(connect, config)| {
            let (more, updates, tasks) = (more.clone(), updates.clone(), tasks.clone());
            RootInstances::new(Arc::new(move |root| {
                Some(start(more.clone(), connect(&config, root)?, updates.clone(), &tasks))
            }))
        });
        let another = Arc::new(move || start(more.clone(), source.clone(), updates.clone(), &tasks));
        let instances = Instances::new(tuning.instances, handle.clone(), another);
        Arc::new(ServerRunner { handle, instances, roots, status_context: badge, kept })
    }
}

impl RegisteredServer {
    pub(crate) fn state(&self) -> ServerState {
        let badge = &self.runner.status_context;
        ServerState::of(badge, &self.handle().status().borrow())
    }

    fn status(&self, withheld_tools: usize) -> ServerStatus {
        let state = self.state();
        let status = self.handle().status();
        let UpstreamStatus {
            transport, revision, pid, starts, since, start_took, catalog: catalogue, ..
        } = &*status.borrow();
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
            catalog: catalogue.clone(),
            counts: self.handle().counts(),
            config: self.config.clone(),
        }
    }
}

/// Whether two configurations of a server differ at most in whether it may run and how its offers are presented.
fn is_same_launch(before: &ServerConfig, now: &ServerConfig) -> bool {
    let ServerOptions { tools, tool, validate, .. } = &now.tuning;
    let tuning = ServerOptions {
        tools: tools.clone(),
        tool: tool.clone(),
        validate: *validate,
        ..before.tuning.clone()
    };
    now.endpoint == before.endpoint && now.tuning == tuning
}
