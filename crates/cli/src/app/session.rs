//! The connection of a command to a hub: a running one, or one of its own.

use std::{path::PathBuf, sync::Arc, time::Duration};

use toolbay_control::{
    About, Api, ControlClient, ControlError, HubSnapshot, HubStatus, ServerSnapshot, ServerState, method,
};
use toolbay_gateway::Gateway;
use toolbay_host::CatalogKind;
use toolbay_policy::ProfileName;

use crate::{
    app::{
        context::Context,
        default_servers::usual_folder,
        error::{CliError, similar},
        hub::{self, HubPlan, absolute},
        owner_policy::OwnerPolicy,
    },
    configured::files::{Configuration, Identity},
    term::{startup_table::StartupTable, style::clean_line},
};

/// Which servers a command needs where no hub runs and it starts them itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Needs<'a> {
    /// All of them.
    All,
    /// The catalogs of all servers: from the cache, else the servers are started.
    Catalogs,
    /// This one, running if `live`, else as [`Needs::Catalogs`].
    Server { name: &'a str, live: bool },
    /// The server with the tool or prompt of this name, if the prefix tells which that is.
    Owner(&'a str),
}

/// How long a command waits for a hub before it prints what it waits for.
const SILENCE: Duration = Duration::from_secs(1);

/// A hub to ask.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    context: &'a Context,
    pub(crate) client: ControlClient,
    /// The project in which the command runs, if it is one.
    pub(crate) root: Option<PathBuf>,
    /// The gateway in front of the servers, where no hub runs.
    pub(crate) gateway: Option<Arc<Gateway>>,
}

/// Finds a hub or starts one, lets `command` use it, and stops what was started, signals or not.
pub(crate) async fn with<T>(
    context: &Context,
    needs: Needs<'_>,
    command: impl AsyncFnOnce(&Session<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let session = Session::open(context, needs).await?;
    let result = tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        result = command(&session) => result,
    };
    if let ControlClient::Local(api) = &session.client {
        hub::stop(api.host()).await;
    }
    result
}

/// As [`with`], but never starts a hub.
pub(crate) async fn with_running<T>(
    context: &Context,
    command: impl AsyncFnOnce(&Session<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let client = running(context).await.map_err(|error| match (&context.args.global.config, error) {
        (Some(config), CliError::Control(ControlError::NoHub)) => {
            CliError::NotRunning { config: config.clone() }
        }
        (_, error) => error,
    })?;
    let session = Session::new(context, client);
    tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        result = command(&session) => result,
    }
}

/// Finds the running hub of the configuration that applies here, else the user's own. Where neither runs, the
/// newest of the others is used, with a warning.
pub(crate) async fn running(context: &Context) -> Result<ControlClient, CliError> {
    let mut found = match RunningHubs::find(context).await? {
        FoundHub::Named(client) => return Ok(client),
        FoundHub::Running(found) => found,
    };
    if let Some(ours) = found.ours {
        return Ok(ours);
    }
    if found.others.is_empty() {
        // A hub that does not respond with its status may still be there; this error names the problem of its socket.
        return Ok(ControlClient::at(&context.env.socket_dirs().place(&found.here.files)).await?);
    }
    let (client, hub) = found.others.swap_remove(0);
    context.out.warn(&format!(
        "no hub is running with the configuration of this directory; {}",
        choice(&hub, &found.others)
    ));
    Ok(client)
}

/// As [`running`], but never a hub of another configuration.
pub(crate) async fn running_here(context: &Context) -> Result<ControlClient, CliError> {
    let found = match RunningHubs::find(context).await? {
        FoundHub::Named(client) => return Ok(client),
        FoundHub::Running(found) => found,
    };
    if let Some(ours) = found.ours {
        return Ok(ours);
    }
    Ok(ControlClient::at(&context.env.socket_dirs().place(&found.here.files)).await?)
}

/// The hub of `--config`, or the one that runs.
enum FoundHub {
    Named(ControlClient),
    Running(RunningHubs),
}

/// The hubs of this user, sorted by whether their configuration applies here.
struct RunningHubs {
    here: Identity,
    /// The hub of the configuration that applies here, else of the user's own.
    ours: Option<ControlClient>,
    /// The hubs of other configurations, the newest first.
    others: Vec<(ControlClient, HubSnapshot)>,
}

impl RunningHubs {
    /// Finds them, and notes which one is used where there are several.
    async fn find(context: &Context) -> Result<FoundHub, CliError> {
        let dirs = context.env.socket_dirs();
        if let Some(config) = &context.args.global.config {
            return Ok(FoundHub::Named(ControlClient::at(&dirs.place(&[absolute(config)?])).await?));
        }
        let mut configuration = Configuration::find(context)?;
        let reading = configuration.read();
        let here = configuration.identity(&reading);
        let mut others = ControlClient::all(dirs).await;
        others.sort_by_key(|(_, hub)| std::cmp::Reverse(hub.started_ms));
        let serves =
            |identity: &Identity| others.iter().position(|(_, hub)| hub.config_files == identity.files);
        let chosen = serves(&here).or_else(|| serves(&here.of_user()));
        let ours = chosen.map(|index| others.remove(index)).map(|(client, hub)| {
            if !others.is_empty() || hub.config_files != here.files {
                context.out.note(&choice(&hub, &others));
            }
            client
        });
        Ok(FoundHub::Running(Self { here, ours, others }))
    }
}

/// Says which hub is used where it might have been another.
fn choice(hub: &HubSnapshot, others: &[(ControlClient, HubSnapshot)]) -> String {
    let mut text = format!("using the hub of {} (process {})", files(hub), hub.pid);
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|(_, hub)| files(hub)).collect();
        text.push_str(&format!("; also running: {}", others.join("; ")));
    }
    clean_line(&text)
}

fn files(hub: &HubSnapshot) -> String {
    let files: Vec<String> = hub.config_files.iter().map(|file| file.display().to_string()).collect();
    files.join(" and ")
}

impl<'a> Session<'a> {
    async fn open(context: &'a Context, needs: Needs<'_>) -> Result<Self, CliError> {
        let mut gateway = None;
        let client = match running(context).await {
            Err(error @ CliError::Control(ControlError::NoHub)) => {
                let mut plan = HubPlan::read(context)?;
                if plan.tells_of_itself {
                    return Err(error); // there is nothing to run
                }
                let options = plan.gateway_options(context)?;
                plan.without_defaults();
                match needs {
                    Needs::All => {}
                    Needs::Catalogs => plan.start_on_demand(),
                    Needs::Server { name, live } => {
                        plan.keep_server(name);
                        if !live {
                            plan.start_on_demand();
                        }
                    }
                    Needs::Owner(name) => plan.keep_owner_of(context, name),
                }
                let host = plan.start(context);
                let own = Gateway::new(host.clone(), options);
                let policy = Arc::new(OwnerPolicy::new(own.clone(), None));
                gateway = Some(own);
                let profile = context.args.global.profile.as_ref().map(ProfileName::as_str);
                let api = Api::new(host, About { config: plan.config, ..About::default() });
                ControlClient::Local(api.with_policy(policy).with_profile(profile))
            }
            found => found?,
        };
        if matches!(client, ControlClient::Remote(_)) && context.args.global.naming.is_some() {
            context.out.warn("--naming is ignored: the running hub decides how tools and prompts are named");
        }
        Ok(Self { gateway, ..Self::new(context, client) })
    }

    /// The profile of the command line.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.context.args.global.profile.as_ref().map(ProfileName::as_str)
    }

    /// All items of a list, as the profile shows it.
    pub(crate) async fn list(&self, kind: CatalogKind) -> Result<Vec<String>, ControlError> {
        self.client.list(kind, self.profile()).await
    }

    /// The servers that own `names` of a list, in the same order.
    pub(crate) async fn owners(
        &self,
        kind: CatalogKind,
        names: &[&str],
    ) -> Result<Vec<Option<String>>, ControlError> {
        self.client.owners(kind, self.profile(), names).await
    }

    fn new(context: &'a Context, client: ControlClient) -> Self {
        let here = std::env::current_dir().ok();
        let root = here.and_then(|here| usual_folder(context.env.home.as_deref(), &here));
        Self { context, client, root, gateway: None }
    }

    /// Sends a request to a server. One that is bound to a project is that of the current directory.
    pub(crate) async fn request(&self, method: &str, params: &str) -> Result<String, ControlError> {
        self.client.request_in(self.root.as_deref(), self.profile(), method, Some(params)).await
    }

    /// Waits until what `awaited` names (JSON, see [`method::READY`]) is there, or all servers are settled. What takes long
    /// is shown.
    pub(crate) async fn ready(&self, awaited: Option<&str>) -> Result<(), CliError> {
        let mut wait = std::pin::pin!(self.client.request(method::READY, awaited));
        match &self.client {
            ControlClient::Remote(_) => {
                if let Ok(done) = tokio::time::timeout(SILENCE, &mut wait).await {
                    done?;
                    return Ok(());
                }
                self.note_starting("waiting for").await?;
                wait.await?;
            }
            // Nothing is started where the cache knows everything.
            ControlClient::Local(api) if !api.host().is_starting() => {
                wait.await?;
            }
            ControlClient::Local(api) => {
                let mut board = StartupTable::of_starting(api.host(), &self.context.out);
                tokio::select! {
                    done = wait => { done?; }
                    () = board.follow() => {}
                }
                board.finish();
            }
        }
        Ok(())
    }

    /// Prepares for a list. A running hub is used as it is now, unless `wait`; servers of our
    /// own are waited for.
    pub(crate) async fn ready_to_list(&self, wait: bool) -> Result<(), CliError> {
        match &self.client {
            ControlClient::Remote(_) if !wait => self.note_starting("still starting").await,
            ControlClient::Remote(_) | ControlClient::Local(_) => self.ready(None).await,
        }
    }

    /// Names servers that are starting, whose tools may be missing.
    async fn note_starting(&self, what: &str) -> Result<(), CliError> {
        let snapshot = self.client.snapshot().await?;
        let is_starting = |server: &&ServerSnapshot| {
            matches!(server.state, ServerState::Starting | ServerState::Restarting)
        };
        let starting: Vec<String> =
            snapshot.servers.iter().filter(is_starting).map(|server| clean_line(&server.name)).collect();
        if !starting.is_empty() {
            self.context.out.note(&format!("{what}: {}", starting.join(", ")));
        }
        Ok(())
    }

    /// The server that offers something of this name.
    pub(crate) async fn owner(&self, kind: CatalogKind, name: &str) -> Result<Option<String>, CliError> {
        Ok(self.owners(kind, &[name]).await?.pop().flatten())
    }

    /// The error for a name that no server offers.
    pub(crate) async fn unknown<'b>(
        &self,
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'b str>,
    ) -> CliError {
        let servers = self.client.snapshot().await.map(|snapshot| snapshot.servers).unwrap_or_default();
        let missing = servers.into_iter().filter(|server| !server.is_up);
        CliError::Unknown {
            kind,
            name: name.to_owned(),
            similar: similar(name, known),
            missing: missing.map(|server| server.name).collect(),
        }
    }
}

/// Says of a server that is unknown here if a running hub has it from another file.
pub(crate) async fn explain(context: &Context, error: CliError) -> CliError {
    let CliError::UnknownServer { name, similar, known } = error else { return error };
    let has_it = |snapshot: &HubStatus| snapshot.servers.iter().any(|server| server.name == name);
    let config = snapshots(context).await.into_iter().find(has_it).and_then(|snapshot| snapshot.config);
    match config {
        Some(config) => CliError::ElsewhereServer { name, config },
        None => CliError::UnknownServer { name, similar, known },
    }
}

/// The files of running hubs that are none of ours.
pub(crate) async fn configs(context: &Context) -> Vec<PathBuf> {
    snapshots(context).await.into_iter().filter_map(|snapshot| snapshot.config).collect()
}

/// The running hubs of other files. With `--config` there are none of interest.
async fn snapshots(context: &Context) -> Vec<HubStatus> {
    if context.args.global.config.is_some() {
        return Vec::new();
    }
    let ours: Vec<PathBuf> = match Configuration::find(context) {
        Ok(configuration) => configuration.files.into_iter().map(|file| file.path).collect(),
        Err(_) => return Vec::new(),
    };
    let ours: Vec<PathBuf> = ours.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let is_other =
        |snapshot: &HubStatus| snapshot.config.as_ref().is_some_and(|config| !ours.contains(config));
    let mut found = Vec::new();
    for (client, _) in ControlClient::all(context.env.socket_dirs()).await {
        found.extend(client.snapshot().await.ok());
    }
    found.into_iter().filter(is_other).collect()
}
