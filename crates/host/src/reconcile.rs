//! Makes the running servers equal to the configured ones.
//!
//! [`Host::apply`] compares the configured servers with those that run: what is new is
//! started, what was removed is stopped, what is launched differently is replaced, and all else is left alone. A server that is
//! replaced or removed finishes the calls it has; new ones go to its successor at once.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::Instant;
use toolbay_config::{Permission, ServerConfig, ServerOptions, Start};
use toolbay_protocol::{Revision, ServerName, model::Tool};
use toolbay_upstream::{
    Catalog, CatalogKind, Counts, Endpoint, ServerHandle, ServerSettings, StartPolicy, UpstreamStatus, start,
};

use crate::{
    ConfigProblem, Connector, Host, HostEventKind, HostEvents, ServerState, Unavailable,
    catalog::review::ReviewSlot,
    host::{ConnectInRoot, HostInner},
    servers::{
        instances::{Instances, roots::RootInstances},
        launch::{inherits_path, server_endpoint, server_settings},
        registry::{RegisteredServer, ServerRegistry, ServerRunner, StatusContext, observer},
        secrets::completion,
    },
};

/// How long a server that is replaced or removed may take to finish its calls.
const DRAIN: Duration = Duration::from_secs(10);

/// What changed when a configuration was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyReport {
    /// New ones.
    pub added: Vec<ServerName>,
    /// No longer wanted.
    pub removed: Vec<ServerName>,
    /// Replaced, because they are launched differently.
    pub replaced: Vec<ServerName>,
    /// Presented differently, enabled or disabled.
    pub adjusted: Vec<ServerName>,
}

/// One server at one moment.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// Its configured name.
    pub name: ServerName,
    /// Its state.
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
    /// How many bytes the definitions of its tools have in the list.
    pub tool_bytes: usize,
    /// What it offers, or did when it was last seen.
    pub catalog: Arc<Catalog>,
    /// What happened so far.
    pub counts: Counts,
    /// Its configuration; none for servers that the program itself brought.
    pub config: Option<Arc<ServerConfig>>,
}

impl ServerStatus {
    /// Its tools, by the names that it uses itself.
    pub fn tools(&self) -> Vec<Tool> {
        let tools = self.catalog.list(CatalogKind::Tools).iter();
        tools.filter_map(|tool| Tool::parse(tool.clone()).ok()).collect()
    }

    /// Why the server is unavailable; none where it is up or starting.
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

/// A command for a server, executed after the registry was replaced.
pub(crate) enum ServerCommand {
    Start(ServerHandle),
    Stop(Arc<ServerRunner>),
    Drain(Arc<RegisteredServer>),
}

impl Host {
    /// Makes these the configured servers, in this order. Servers that the program itself brought stay.
    ///
    /// Returns once disabled servers are stopped and enabled ones are starting. Those that
    /// were removed or replaced finish their calls in the background.
    pub async fn apply(&self, servers: &[ServerConfig]) -> ApplyReport {
        let (applied, commands) = {
            let _one_at_a_time = self.shared.applying.lock();
            let old = self.shared.servers.load_full();
            let (entries, applied, commands) = self.shared.reconcile(&old, servers);
            self.shared.servers.store(Arc::new(ServerRegistry::new(entries)));
            (applied, commands)
        };
        self.shared.servers_changed.notify_one();
        self.execute(commands).await;
        if applied != ApplyReport::default() {
            self.shared.events.note(HostEventKind::Applied(Arc::new(applied.clone())));
        }
        applied
    }

    /// Records that the configuration cannot be used, as an event and in [`Host::config_problems`], until [`Host::accept`].
    pub fn reject(&self, problems: &[ConfigProblem]) {
        self.shared.events.set_config_problems(Some(problems.into()));
    }

    /// Records that the configuration can be used again.
    pub fn accept(&self) {
        self.shared.events.set_config_problems(None);
    }

    /// Why the configuration as it stands now cannot be used, if so; servers run with what was there before.
    pub fn config_problems(&self) -> Arc<[ConfigProblem]> {
        self.shared.events.rejected().unwrap_or_default()
    }

    /// Subscribes to events.
    pub fn events(&self) -> HostEvents {
        self.shared.events.listen()
    }

    /// The number of the last event.
    pub fn revision(&self) -> u64 {
        self.shared.events.revision()
    }

    /// One server now.
    pub fn status(&self, name: &str) -> Option<ServerStatus> {
        self.shared.servers.load().get(name).map(|entry| self.status_of(entry))
    }

    /// All servers now, in the order of the configuration.
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.shared.servers.load().servers.iter().map(|entry| self.status_of(entry)).collect()
    }

    /// Those that answer calls now.
    pub fn running(&self) -> Vec<ServerStatus> {
        self.statuses().into_iter().filter(|status| status.state.is_up()).collect()
    }

    /// Starts a server that is down. Returns once it is starting; [`Host::wait_for`] waits until it is up.
    pub async fn start_server(&self, name: &str) -> Result<(), ServerError> {
        self.may_run(name)?.handle().start().await;
        Ok(())
    }

    /// Stops a server until it is started again. Returns once its processes are gone and what it offers is no longer
    /// listed.
    pub async fn stop_server(&self, name: &str) -> Result<(), ServerError> {
        let entry = self.entry(name)?;
        self.execute(vec![ServerCommand::Stop(entry.runner.clone())]).await;
        self.table_updated().await;
        Ok(())
    }

    /// Stops a server and starts it anew, with a clean record. Returns once the old process is gone and the new one is being
    /// started; [`Host::wait_for`] then waits for the new one.
    pub async fn restart_server(&self, name: &str) -> Result<(), ServerError> {
        let entry = self.may_run(name)?;
        tokio::join!(entry.handle().restart(), entry.runner.instances.stop_extra());
        Ok(())
    }

    /// Enables a server, also one that needs approval. Returns once it is starting.
    pub async fn enable_server(&self, name: &str) -> Result<(), ServerError> {
        self.set_permission(name, Permission::Enabled).await
    }

    /// Disables a server. Returns once its processes are gone and what it offers is no longer listed.
    pub async fn disable_server(&self, name: &str) -> Result<(), ServerError> {
        self.set_permission(name, Permission::Disabled).await
    }

    /// Waits until a server is up, or has failed, and returns its state.
    pub async fn wait_for(&self, name: &str) -> Result<ServerState, ServerError> {
        let handle = self.entry(name)?.handle().clone();
        self.settled_among(&[handle]).await;
        Ok(self.entry(name)?.state())
    }

    fn status_of(&self, entry: &RegisteredServer) -> ServerStatus {
        let (table, name) = (self.peek_table(), entry.name.as_str());
        ServerStatus { tool_bytes: table.tool_bytes(Some(name)), ..entry.status(table.withheld_tools(name)) }
    }

    async fn set_permission(&self, name: &str, permission: Permission) -> Result<(), ServerError> {
        let entry = self.entry(name)?;
        if let Some(command) = self.shared.set_permission_of(&entry, permission) {
            self.execute(vec![command]).await;
            self.table_updated().await;
        }
        Ok(())
    }

    pub(crate) fn entry(&self, name: &str) -> Result<Arc<RegisteredServer>, ServerError> {
        self.shared.servers.load().get(name).cloned().ok_or_else(|| ServerError::Unknown(name.to_owned()))
    }

    fn may_run(&self, name: &str) -> Result<Arc<RegisteredServer>, ServerError> {
        let entry = self.entry(name)?;
        match entry.runner.status_context.permission() {
            Permission::Enabled => Ok(entry),
            Permission::Disabled => Err(ServerError::Disabled(entry.name.clone())),
            Permission::Pending => Err(ServerError::Pending(entry.name.clone())),
        }
    }

    pub(crate) async fn execute(&self, commands: Vec<ServerCommand>) {
        let executed = commands.into_iter().map(async |command| match command {
            ServerCommand::Start(handle) => handle.start().await,
            ServerCommand::Stop(runner) => {
                tokio::join!(runner.handle.stop_until_started(), runner.instances.stop_extra());
            }
            ServerCommand::Drain(entry) => {
                let over = self.shared.stop.clone();
                self.shared.tasks.spawn(async move {
                    entry.runner.instances.drain(DRAIN, over).await;
                });
            }
        });
        join_all(executed).await;
    }
}

impl HostInner {
    /// The new registry, what changed, and the commands that make it so.
    fn reconcile(
        &self,
        old: &ServerRegistry,
        servers: &[ServerConfig],
    ) -> (Vec<Arc<RegisteredServer>>, ApplyReport, Vec<ServerCommand>) {
        let (mut applied, mut commands) = (ApplyReport::default(), Vec::new());
        let mut entries: Vec<Arc<RegisteredServer>> =
            old.servers.iter().filter(|entry| entry.config.is_none()).cloned().collect();
        for config in servers {
            let name = &config.name;
            if entries.iter().any(|entry| entry.name == *name) {
                continue; // the first of a name counts
            }
            let known = old.get(name.as_str());
            entries.push(match known.and_then(|entry| Some((entry, entry.config.as_deref()?))) {
                Some((entry, before)) if before == config => entry.clone(),
                Some((entry, before)) if is_same_launch(before, config) => {
                    applied.adjusted.push(name.clone());
                    if before.permission != config.permission {
                        commands.extend(self.set_permission_of(entry, config.permission));
                    }
                    Arc::new(RegisteredServer {
                        name: name.clone(),
                        tuning: Arc::new(config.tuning.clone()),
                        config: Some(Arc::new(config.clone())),
                        runner: entry.runner.clone(),
                    })
                }
                Some((entry, _)) => {
                    applied.replaced.push(name.clone());
                    let (successor, command) = self.succeed_with(entry, config);
                    commands.push(command);
                    successor
                }
                None => {
                    applied.added.push(name.clone());
                    self.admit(config, None)
                }
            });
        }
        for entry in &old.servers {
            if !entries.iter().any(|other| other.name == entry.name) {
                applied.removed.push(entry.name.clone());
                entry.runner.status_context.drain();
                self.events.removed(&entry.name);
                commands.push(ServerCommand::Drain(entry.clone()));
            }
        }
        (entries, applied, commands)
    }

    /// A successor for a server, and the command for the server.
    pub(crate) fn succeed(&self, entry: &Arc<RegisteredServer>) -> (Arc<RegisteredServer>, ServerCommand) {
        match entry.config.as_deref() {
            Some(config) => self.succeed_with(entry, config),
            None => (entry.clone(), ServerCommand::Start(entry.handle().clone())),
        }
    }

    fn succeed_with(
        &self,
        entry: &Arc<RegisteredServer>,
        config: &ServerConfig,
    ) -> (Arc<RegisteredServer>, ServerCommand) {
        let seen = entry.handle().status().borrow().catalog.clone();
        entry.runner.status_context.drain();
        (self.admit(config, Some(seen)), ServerCommand::Drain(entry.clone()))
    }

    /// Changes the permission of a server; returns the command for it, if any.
    pub(crate) fn set_permission_of(
        &self,
        entry: &RegisteredServer,
        permission: Permission,
    ) -> Option<ServerCommand> {
        let runner = &entry.runner;
        let before = runner.status_context.permission();
        if before == permission {
            return None;
        }
        runner.status_context.set_permission(permission);
        match (before, permission) {
            (_, Permission::Enabled) => Some(ServerCommand::Start(runner.handle.clone())),
            (Permission::Enabled, _) => Some(ServerCommand::Stop(runner.clone())),
            _ => {
                // It was down and stays so: there is no other event.
                self.events.state(&entry.name, entry.state());
                None
            }
        }
    }

    /// Registers a configured server. `seen` is the catalog of its predecessor.
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
            completion: completion(
                &config,
                self.secrets.as_ref(),
                self.connector.as_ref(),
                &self.known_secrets,
            ),
            ..server_settings(&config)
        };
        let connected = self.connector.as_ref().and_then(|connector| connector.connect(&config));
        let endpoint = connected
            .unwrap_or_else(|| server_endpoint(&config, &self.base_env, &self.shim, self.chain.as_ref()));
        let endpoint = self.with_credentials(&config, endpoint);
        let tuning = Arc::new(config.tuning.clone());
        let in_root = self.connector.as_ref().and_then(Connector::in_root);
        // One that is made with secrets is made for each start, and is the same in every folder.
        let in_root = in_root.filter(|_| config.secrets.is_empty());
        let bound = in_root.map(|in_root| (in_root, config.clone()));
        let review = ReviewSlot::new(self.review.as_ref(), &config);
        let runner = self.run(settings, endpoint, config.permission, &tuning, kept, bound);
        let runner = Arc::new(ServerRunner { review, ..runner });
        Arc::new(RegisteredServer { name: config.name.clone(), config: Some(config), tuning, runner })
    }

    /// Registers a server that the program itself brought.
    pub(crate) fn embed(&self, name: ServerName, endpoint: Endpoint) -> Arc<RegisteredServer> {
        let tuning = Arc::new(ServerOptions::default());
        let settings = ServerSettings { client: self.client.clone(), ..ServerSettings::new(name.clone()) };
        let runner = Arc::new(self.run(settings, endpoint, Permission::Enabled, &tuning, None, None));
        Arc::new(RegisteredServer { name, config: None, tuning, runner })
    }

    fn run(
        &self,
        settings: ServerSettings,
        endpoint: Endpoint,
        permission: Permission,
        tuning: &ServerOptions,
        kept: Option<Arc<Catalog>>,
        bound: Option<(Arc<ConnectInRoot>, Arc<ServerConfig>)>,
    ) -> ServerRunner {
        let settings = ServerSettings {
            start_gate: self.start_gate.clone(),
            budget: self.budget.clone(),
            capture: self.capture.clone(),
            known_secrets: self.known_secrets.clone(),
            ..settings
        };
        let context = StatusContext::new(permission);
        let observer = observer(context.clone(), self.events.clone(), self.servers_changed.clone());
        let (updates, tasks) = (self.updates.clone(), self.tasks.clone());
        let first = ServerSettings { observer: Some(observer), ..settings.clone() };
        let handle = start(first, endpoint.clone(), updates.clone(), &tasks);
        // Only the first process of a server has a state; the others are there because they were called.
        let more = ServerSettings { start: StartPolicy::Eager, idle_stop: None, ..settings };
        let roots = bound.map(|(connect, config)| {
            let (more, updates, tasks) = (more.clone(), updates.clone(), tasks.clone());
            RootInstances::new(Arc::new(move |root| {
                Some(start(more.clone(), connect(&config, root)?, updates.clone(), &tasks))
            }))
        });
        let another = Arc::new(move || start(more.clone(), endpoint.clone(), updates.clone(), &tasks));
        let instances = Instances::new(tuning.instances, handle.clone(), another);
        ServerRunner { handle, instances, roots, status_context: context, kept, review: None }
    }
}

impl RegisteredServer {
    pub(crate) fn state(&self) -> ServerState {
        let context = &self.runner.status_context;
        ServerState::of(context, &self.handle().status().borrow())
    }

    fn status(&self, withheld_tools: usize) -> ServerStatus {
        let state = self.state();
        let status = self.handle().status();
        let UpstreamStatus { transport, revision, pid, starts, since, start_took, catalog, .. } =
            &*status.borrow();
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
            tool_bytes: 0,
            catalog: self.reviewed(catalog, self.last_review().as_deref()),
            counts: self.handle().counts(),
            config: self.config.clone(),
        }
    }
}

/// Whether two configurations of a server differ at most in whether it may run and how its offers are presented.
fn is_same_launch(before: &ServerConfig, now: &ServerConfig) -> bool {
    let ServerOptions { tools, tool, validate, pins, validate_output, max_result, .. } = &now.tuning;
    let tuning = ServerOptions {
        tools: tools.clone(),
        tool: tool.clone(),
        validate: *validate,
        pins: *pins,
        validate_output: *validate_output,
        max_result: *max_result,
        ..before.tuning.clone()
    };
    now.endpoint == before.endpoint && now.secrets == before.secrets && now.tuning == tuning
}
