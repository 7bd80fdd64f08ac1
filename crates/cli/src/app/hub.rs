//! A hub in this process.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Value, json};
use toolbay_builtin::hub::{StatusSource, hub};
use toolbay_config::{
    AuditSection, AuthSection, HubFile, Permission, PolicySection, ProfileEntry, ServerConfig, Start,
    scope::user_file, shell_to_ask,
};
use toolbay_control::{HubStatus, Note};
use toolbay_gateway::GatewayOptions;
use toolbay_host::{
    CatalogReview, Host, HostOptions, HubChain, InProcess, Naming, PendingPath, Shim, shim, slugs,
};
use toolbay_policy::{Policy, PolicySet, Profile, ProfileName};
use toolbay_protocol::ServerName;

use crate::{
    app::{
        built_in::{BuiltInServers, SearchQuotas},
        codebases::OpenTrees,
        context::Context,
        cycle,
        default_servers::{NO_FOLDER, usual_folder},
        env::send_login_path,
        error::CliError,
        logins::Logins,
        pins::DefinitionReview,
        reload::complaints,
        user_secrets::UserSecrets,
    },
    args::Command,
    configured::files::{Configuration, Identity, runs_something},
};

/// How long servers may take to end: stdin closed, SIGTERM, SIGKILL, and some more.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of the built-in server with the tools of the hub itself.
const HUB: &str = "hub";

/// The plan of a hub: servers, settings and files.
#[derive(Debug)]
pub(crate) struct HubPlan {
    /// The file that is shown as its configuration, as an absolute path.
    pub(crate) config: Option<PathBuf>,
    /// The identity of the hub.
    pub(crate) identity: Identity,
    /// The files of the servers, if any.
    pub(crate) configuration: Option<Configuration>,
    /// The hubs that this process was started through, and this one.
    pub(crate) chain: HubChain,
    /// Settings of the hub itself.
    pub(crate) hub: HubFile,
    /// Who may use it over HTTP.
    pub(crate) auth: AuthSection,
    /// What callers see.
    profiles: Vec<ProfileEntry>,
    /// What happens to their calls.
    policy: PolicySection,
    /// What is recorded of calls.
    pub(crate) audit: AuditSection,
    servers: Vec<ServerConfig>,
    naming: Option<Naming>,
    /// Whether nothing is configured.
    pub(crate) tells_of_itself: bool,
    /// Whether the server `hub` is offered.
    offers_hub: bool,
    /// The folder that it offers as the default codebase.
    pub(crate) folder: Option<PathBuf>,
    /// The quotas of its servers.
    pub(crate) quotas: SearchQuotas,
}

impl HubPlan {
    /// The names of all servers that are configured.
    pub(crate) fn server_names(&self) -> BTreeSet<&str> {
        self.servers.iter().map(|server| server.name.as_str()).collect()
    }

    /// Reads the configuration and reports what cannot be used. There need not be one; but one that was given must be
    /// readable.
    pub(crate) fn read(context: &Context) -> Result<Self, CliError> {
        let mut configuration = Configuration::find(context)?;
        configuration.pins = DefinitionReview::of_user(context);
        let mut reading = configuration.read();
        if configuration.is_explicit
            && let Some(error) = reading.errors.pop()
        {
            return Err(error.into());
        }
        configuration.complained = complaints(&reading);
        for complaint in &configuration.complained {
            context.out.warn(&complaint.message);
        }
        for (path, problem) in &reading.warnings {
            context.out.warn(&format!("{}:{problem}", path.display()));
        }
        let runs_something = runs_something(&reading);
        if configuration.is_explicit && !runs_something {
            let path = context.args.global.config.as_deref().unwrap_or(Path::new(""));
            context.out.warn(&format!("{} has no server to run", path.display()));
        }
        let identity = configuration.identity(&reading);
        let mut hub = reading.hub.clone();
        let (auth, audit) = (reading.auth.clone(), reading.audit.clone());
        let (profiles, policy) = (reading.profiles.clone(), reading.policy.clone());
        if let Some(own) = configuration.is_explicit.then(|| user_settings(context, &configuration)).flatten()
        {
            hub.share = hub.share.or(own.share);
            hub.linger = hub.linger.or(own.linger);
        }
        let is_typed = matches!(&context.args.command, Some(Command::Serve(args)) if args.builtins);
        configuration.defaults.offers_builtins = is_typed || hub.builtins == Some(true);
        let tells_of_itself = !configuration.is_explicit && !runs_something;
        Ok(Self {
            config: configuration.first_file(),
            identity,
            chain: cycle::chain(context, &configuration.present()),
            tells_of_itself,
            folder: configuration.defaults.folder.clone().filter(|_| tells_of_itself),
            offers_hub: !configuration.is_explicit,
            hub,
            auth,
            profiles,
            policy,
            audit,
            servers: configuration.servers(reading),
            configuration: Some(configuration),
            naming: None,
            quotas: SearchQuotas::default(),
        })
    }

    /// A plan with one server only, whose names get no prefix.
    pub(crate) fn of_entry(context: &Context, name: &str, entry: &Value) -> Result<Self, CliError> {
        let text = json!({ "mcpServers": { name: entry } }).to_string();
        let file = toolbay_config::parse(&text, Path::new("."))?;
        match file.problems.first() {
            Some(problem) => Err(CliError::usage(&problem.message)),
            None => Ok(Self {
                config: None,
                identity: Identity { files: Vec::new(), project: None, is_explicit: false },
                configuration: None,
                chain: cycle::chain(context, &[PathBuf::from(text)]),
                hub: HubFile::default(),
                auth: AuthSection::Absent,
                profiles: Vec::new(),
                policy: PolicySection::Absent,
                audit: AuditSection::Absent,
                servers: file.servers,
                naming: Some(Naming::None),
                tells_of_itself: false,
                offers_hub: false,
                folder: None,
                quotas: SearchQuotas::default(),
            }),
        }
    }

    /// The profiles and rules.
    ///
    /// # Errors
    /// If `[policy]` cannot be used: without it, calls would be allowed that should not be.
    pub(crate) fn policy_set(&self) -> Result<PolicySet, CliError> {
        policy_set(&self.profiles, &self.policy).ok_or_else(|| CliError::Usage {
            message: "`[policy]` has errors or cannot be read, and calls would be allowed without it"
                .to_owned(),
            hint: Some("`toolbay config check` shows them".to_owned()),
        })
    }

    /// The names of all profiles.
    pub(crate) fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().map(|entry| entry.name().as_str())
    }

    /// Checks that a profile exists.
    pub(crate) fn check_profile(&self, name: &ProfileName) -> Result<(), CliError> {
        let known: Vec<&str> = self.profile_names().collect();
        if known.contains(&name.as_str()) {
            return Ok(());
        }
        Err(CliError::Usage {
            message: format!("there is no profile `{name}`"),
            hint: Some(match &known[..] {
                [] => format!("define it in your toolbay.toml: [profiles.{name}]"),
                known => format!("there are: {}", known.join(", ")),
            }),
        })
    }

    /// The options of a gateway in front of the servers: the profiles, the rules, and the profile of the command line.
    pub(crate) fn gateway_options(&self, context: &Context) -> Result<GatewayOptions, CliError> {
        let profile = context.args.global.profile.clone();
        profile.as_ref().map_or(Ok(()), |profile| self.check_profile(profile))?;
        Ok(GatewayOptions {
            policy: self.policy_set()?,
            profile,
            task_key: context.env.task_key(),
            results: context.results.clone(),
            // Its value was checked when the file was read.
            schema_view: self
                .hub
                .schema_view
                .as_deref()
                .and_then(|view| view.parse().ok())
                .unwrap_or_default(),
            first_list_wait: self.hub.first_list_wait(),
            ..GatewayOptions::default()
        })
    }

    /// Servers that wait for approval.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &ServerName> {
        let pending = self.servers.iter().filter(|server| server.permission == Permission::Pending);
        pending.map(|server| &server.name)
    }

    /// Whether built-in servers are offered without entries.
    pub(crate) fn offers_builtins(&self) -> bool {
        self.configuration.as_ref().is_some_and(|configuration| configuration.defaults.offers_builtins)
    }

    /// What the status says about built-in servers that are not offered.
    pub(crate) fn off_notes(&self) -> Vec<Note> {
        let defaults = self.configuration.as_ref().map(|configuration| &configuration.defaults);
        let notes = defaults.map(|defaults| defaults.off_notes()).unwrap_or_default();
        let is_off = |note: &Note| !self.servers.iter().any(|server| server.name.as_str() == note.server);
        notes.into_iter().filter(is_off).collect()
    }

    /// The secrets that the configuration may refer to.
    pub(crate) fn secrets(&self, context: &Context) -> UserSecrets {
        let configured = self.configuration.as_ref().map(|configuration| configuration.secrets.clone());
        configured.unwrap_or_else(|| UserSecrets::new(context))
    }

    /// The configured servers.
    pub(crate) fn servers(&self) -> &[ServerConfig] {
        &self.servers
    }

    /// Leaves out the default servers, which a single command does not need.
    pub(crate) fn without_defaults(&mut self) {
        self.offers_hub = false;
        if let Some(Configuration { defaults, .. }) = &self.configuration {
            self.servers.retain(|server| !defaults.contains(server));
        }
    }

    /// Starts only servers without a cached catalog, and the others when they are called.
    pub(crate) fn start_on_demand(&mut self) {
        for server in &mut self.servers {
            server.tuning.start = Start::OnDemand;
        }
    }

    /// Leaves out all servers but the one that a prefixed name belongs to. Where the prefix does not tell which that
    /// is, all stay, and are started on demand.
    pub(crate) fn keep_owner_of(&mut self, context: &Context, name: &str) {
        let naming = self.naming(context);
        let prefix = name.split_once("__").map(|(prefix, _)| prefix).filter(|_| naming != Naming::None);
        let slugs = slugs(&self.names());
        match prefix.and_then(|prefix| slugs.iter().position(|slug| slug == prefix)) {
            Some(index) if self.keep(index) => {}
            _ => self.start_on_demand(),
        }
    }

    /// Leaves out all servers but this one, if it is there.
    pub(crate) fn keep_server(&mut self, name: &str) {
        if let Some(index) = self.servers.iter().position(|server| server.name.as_str() == name) {
            self.keep(index);
        }
    }

    /// Leaves out all servers but one, unless its names would begin otherwise without the others: where several servers
    /// have similar names, each has a hash in its prefix.
    fn keep(&mut self, index: usize) -> bool {
        let names = self.names();
        let is_same = slugs(&names[index..=index])[0] == slugs(&names)[index];
        if is_same {
            self.servers = vec![self.servers.swap_remove(index)];
        }
        is_same
    }

    /// How tools and prompts are named.
    pub(crate) fn naming(&self, context: &Context) -> Naming {
        let written = self.hub.naming.as_deref().and_then(|naming| naming.parse().ok());
        self.naming.or(context.args.global.naming).or(written).unwrap_or_default()
    }

    fn names(&self) -> Vec<ServerName> {
        self.servers.iter().map(|server| server.name.clone()).collect()
    }

    /// Starts all servers in the background: the configured ones, `hub` and, unless the configuration
    /// replaces it, `codebase`.
    pub(crate) fn start(&self, context: &Context) -> Host {
        forbid_core_dumps();
        let itself: Arc<OnceLock<Host>> = Arc::default();
        let defaults = self.configuration.as_ref().map(|configuration| configuration.defaults.clone());
        let mut in_process: Vec<(ServerName, InProcess)> = Vec::new();
        let status: StatusSource = {
            let itself = itself.clone();
            Arc::new(move || serde_json::to_value(itself.get().map(HubStatus::of)).unwrap_or_default())
        };
        if self.offers_hub && !self.servers.iter().any(|server| server.name.as_str() == HUB) {
            let lacks_codebase = defaults.as_ref().is_some_and(|it| it.lacks_codebase(&self.servers));
            let note = lacks_codebase.then_some(NO_FOLDER);
            in_process.push((ServerName::new(HUB), hub(status.clone(), note)));
        }
        let project = self.configuration.as_ref().map(|configuration| configuration.project.clone());
        let project = project.filter(|project| usual_folder(context.env.home.as_deref(), project).is_some());
        let built_in = BuiltInServers::new(context, OpenTrees::new(context), project)
            .of_hub(status, self.quotas.clone());
        let (sender, awaited) = PendingPath::new();
        // A hub in the background has the environment of that shell.
        let may_ask =
            self.configuration.is_some() && !matches!(context.args.command, Some(Command::Background(_)));
        let shell = may_ask.then(|| shell_to_ask(&context.env.variables)).flatten();
        let secrets = self.secrets(context);
        let options = HostOptions {
            naming: self.naming(context),
            base_env: context.env.variables.clone(),
            path: shell.is_some().then_some(awaited),
            shim: Shim::current_exe(),
            cache: context.env.catalogs(),
            connector: Some(built_in.connector(defaults)),
            authorizers: Logins::open(context)
                .map(|logins| logins.with_secrets(secrets.clone()).authorizers()),
            chain: Some(self.chain.clone()),
            client: None,
            secrets: Some(secrets.lookup()),
            review: self
                .configuration
                .as_ref()
                .and_then(|configuration| configuration.pins.clone())
                .map(|pins| pins as Arc<dyn CatalogReview>),
        };
        let host = Host::start(&self.servers, in_process, &options);
        // Set once, here.
        let _ = itself.set(host.clone());
        if let Some(shell) = shell {
            host.tasks().spawn(send_login_path(shell, context.env.variables.clone(), sender, host.clone()));
        }
        host
    }
}

/// The profiles that can be used, and the rules; none if these cannot be used.
pub(crate) fn policy_set(profiles: &[ProfileEntry], policy: &PolicySection) -> Option<PolicySet> {
    let valid = |entry: &ProfileEntry| match entry {
        ProfileEntry::Valid(profile) => Some(Profile::clone(profile)),
        ProfileEntry::Invalid(_) => None,
    };
    let rules = match policy {
        PolicySection::Absent => Policy::default(),
        PolicySection::Valid(rules) => rules.clone(),
        PolicySection::Invalid => return None,
    };
    Some(PolicySet::new(profiles.iter().filter_map(valid).collect(), rules))
}

/// The `[hub]` settings of the user's own file, even if another file was given.
fn user_settings(context: &Context, configuration: &Configuration) -> Option<HubFile> {
    let file = user_file(context.env.config_dir.as_deref()?);
    Some(configuration.load(&file).ok()?.hub)
}

/// The secrets of servers pass through this process.
pub(crate) fn forbid_core_dumps() {
    if let Err(error) = shim::disable_core_dumps() {
        tracing::warn!(%error, "a core dump of this process would contain secrets");
    }
}

/// Stops every server with everything below it.
pub(crate) async fn stop(host: &Host) {
    host.stop(STOP_TIMEOUT).await;
}

/// The one path that means this file, so that a hub is found however it was typed.
pub(crate) fn absolute(config: &Path) -> Result<PathBuf, CliError> {
    std::fs::canonicalize(config).map_err(|source| {
        CliError::Config(toolbay_config::ConfigError::Read { path: config.to_owned(), source })
    })
}

/// The address for HTTP unless another is given.
pub(crate) const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4100));
