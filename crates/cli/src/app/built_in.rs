//! Built-in servers, made from their settings.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolbay_builtin::{
    ClientRoots,
    brave_search::{BraveSearch, BraveSearchConfig, brave_search},
    fetch::{FetchConfig, fetch},
    filesystem::{FilesystemConfig, FilesystemToolset, filesystem},
    grep::{GrepConfig, GrepToolset, grep},
    hub::{StatusSource, hub},
    memory::{MemoryConfig, MemoryToolset, memory},
    secret::{SecretFile, SecretSource, SecretValue},
    shell::{ShellConfig, ShellToolset, shell},
    text_editor::{TextEditorConfig, TextEditorToolset, text_editor},
    time::time,
};
use toolbay_config::{
    BraveSearchSettings, BuiltIn, FetchSettings, FileSettings, GrepSettings, MemorySettings, NetworkAccess,
    SandboxLevel, ServerEndpoint, ShellLimits, ShellSettings, ToolsetName, inherited,
};
use toolbay_control::Note;
use toolbay_files::{Protection, Secrets, WriteMode};
use toolbay_host::{Connector, Endpoint, InProcess, refusing};
use toolbay_protocol::ServerName;
use toolbay_results::{LazyResultStore, ResultStore};
use toolbay_sandbox::{Level, Limits, Network};
use toolbay_transport::http::client::ConnectOptions;

use crate::app::{
    codebases::{OpenTrees, no_folder},
    context::Context,
    default_servers::DefaultServers,
};

/// What built-in servers are made with.
pub(crate) struct BuiltInServers {
    trees: Arc<OpenTrees>,
    /// The status of the hub.
    status: StatusSource,
    /// The project, whose memories are used where no file is given.
    project: Option<PathBuf>,
    home: Option<PathBuf>,
    memories: Option<PathBuf>,
    /// The environment of programs that are run.
    environment: BTreeMap<OsString, OsString>,
    /// What programs that are run may not see: our configuration, state and sockets.
    own_paths: Vec<PathBuf>,
    /// Where long results are kept.
    results: Option<Arc<LazyResultStore>>,
    quotas: SearchQuotas,
}

/// The servers that search the web, whose services have quotas, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchQuotas(Arc<Mutex<BTreeMap<String, BraveSearch>>>);

impl SearchQuotas {
    /// What each has used and what is left.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let statuses: Vec<_> =
            self.0.lock().iter().map(|(name, server)| (name.clone(), server.status())).collect();
        let used = statuses.into_iter().filter(|(_, status)| status.requests > 0);
        used.map(|(server, status)| Note { server, text: status.to_string() }).collect()
    }
}

impl BuiltInServers {
    /// For the servers of a project.
    pub(crate) fn new(context: &Context, trees: Arc<OpenTrees>, project: Option<PathBuf>) -> Self {
        Self {
            trees,
            status: Arc::new(|| Value::Null),
            project,
            home: context.env.home.clone(),
            memories: context.env.memories(),
            environment: inherited(context.env.variables.clone()),
            own_paths: context.env.own_paths(),
            results: context.results.clone(),
            quotas: SearchQuotas::default(),
        }
    }

    /// The same for a hub with this status, which has the quotas in it.
    pub(crate) fn of_hub(self, status: StatusSource, quotas: SearchQuotas) -> Self {
        Self { status, quotas, ..self }
    }

    /// Connects to the built-in servers of a configuration. Servers that are for the project of their client have one instance for each.
    pub(crate) fn connector(self, defaults: Option<DefaultServers>) -> Connector {
        let (servers, defaults) = (Arc::new(self), Arc::new(defaults));
        let (servers_in_roots, defaults_in_roots) = (servers.clone(), defaults.clone());
        let connector = Connector::new(move |server| {
            let ServerEndpoint::BuiltIn(settings) = &server.endpoint else { return None };
            let connect = match &*defaults {
                Some(defaults) if defaults.lacks_folder(&server.endpoint) => Ok(no_folder()),
                Some(defaults) => servers.connect_named(&server.name, &defaults.settings(settings)),
                None => servers.connect_named(&server.name, settings),
            };
            Some(Endpoint::InProcess(connect.unwrap_or_else(refusing)))
        });
        connector.with_roots(move |server, root| {
            let servers = &servers_in_roots;
            let connect = match &server.endpoint {
                ServerEndpoint::BuiltIn(BuiltIn::Memory(settings)) if settings.memory_file.is_none() => {
                    servers.memory(settings, Some(root))
                }
                endpoint => servers.connect(&(*defaults_in_roots).as_ref()?.settings_in(endpoint, root)?),
            };
            Some(Endpoint::InProcess(connect.unwrap_or_else(refusing)))
        })
    }

    /// Makes the server of an entry.
    fn connect_named(&self, name: &ServerName, settings: &BuiltIn) -> Result<InProcess, String> {
        let mut quotas = self.quotas.0.lock();
        let BuiltIn::BraveSearch(settings) = settings else {
            quotas.remove(name.as_str()); // it was another server before
            drop(quotas);
            return self.connect(settings);
        };
        let server = self.brave_search(settings)?;
        quotas.insert(name.to_string(), server.clone());
        Ok(server.connector())
    }

    /// Makes a server. The error is a message for the user.
    pub(crate) fn connect(&self, settings: &BuiltIn) -> Result<InProcess, String> {
        match settings {
            BuiltIn::Filesystem(settings) => self.filesystem(settings),
            BuiltIn::TextEditor(settings) => self.text_editor(settings),
            BuiltIn::Shell(settings) => self.shell(settings),
            BuiltIn::Memory(settings) => self.memory(settings, self.project.as_deref()),
            BuiltIn::Time(settings) => Ok(time(settings.local_timezone.as_deref())),
            BuiltIn::Codebase(settings) => Ok(self.trees.server(settings)),
            BuiltIn::Hub => Ok(hub(self.status.clone(), None)),
            BuiltIn::Grep(settings) => self.grep(settings),
            BuiltIn::BraveSearch(settings) => Ok(self.brave_search(settings)?.connector()),
            BuiltIn::Fetch(settings) => Ok(self.fetch(settings)),
        }
    }

    fn filesystem(&self, settings: &FileSettings) -> Result<InProcess, String> {
        let (connect, skipped) = filesystem(FilesystemConfig {
            directories: settings.directories.clone(),
            home: self.home.clone(),
            secrets: secrets(settings),
            protection: protection(settings),
            write_mode: write_mode(settings),
            client_roots: match client_roots(settings.client_roots) {
                // As in the original, the roots are the directories where none is given.
                ClientRoots::Narrow if settings.directories.is_empty() => ClientRoots::Provide,
                roots => roots,
            },
            toolset: match settings.toolset {
                ToolsetName::Agent => FilesystemToolset::Agent,
                _ => FilesystemToolset::Reference,
            },
            extra_tools: settings.extra_tools,
            delete: settings.delete,
        });
        usable(connect, &skipped, &settings.directories)
    }

    fn text_editor(&self, settings: &FileSettings) -> Result<InProcess, String> {
        let (connect, skipped) = text_editor(TextEditorConfig {
            directories: settings.directories.clone(),
            home: self.home.clone(),
            secrets: secrets(settings),
            protection: protection(settings),
            write_mode: write_mode(settings),
            client_roots: client_roots(settings.client_roots),
            toolset: match settings.toolset {
                ToolsetName::Agent => TextEditorToolset::Agent,
                ToolsetName::Hashes => TextEditorToolset::Hashes,
                _ => TextEditorToolset::StrReplace,
            },
            max_characters: settings.max_characters.map(|max| usize::try_from(max).unwrap_or(usize::MAX)),
        });
        usable(connect, &skipped, &settings.directories)
    }

    fn grep(&self, settings: &GrepSettings) -> Result<InProcess, String> {
        let (connect, skipped) = grep(GrepConfig {
            directories: settings.directories.clone(),
            home: self.home.clone(),
            secrets: if settings.secrets { Secrets::Shown } else { Secrets::Hidden },
            toolset: match settings.toolset {
                ToolsetName::Ripgrep => GrepToolset::Ripgrep,
                _ => GrepToolset::Grep,
            },
            client_roots: client_roots(settings.client_roots),
            time_limit: settings.time_limit,
        });
        usable(connect, &skipped, &settings.directories)
    }

    fn brave_search(&self, settings: &BraveSearchSettings) -> Result<BraveSearch, String> {
        let api_key: Option<Arc<dyn SecretSource>> = match (&settings.api_key, &settings.api_key_file) {
            (Some(key), _) => Some(Arc::new(SecretValue::new("the API key", key.expose()))),
            (None, Some(file)) => Some(Arc::new(SecretFile(file.clone()))),
            (None, None) => None,
        };
        let config = BraveSearchConfig {
            api_key,
            base_url: settings.base_url.clone(),
            enabled_tools: settings.enabled_tools.clone().unwrap_or_default(),
            disabled_tools: settings.disabled_tools.clone(),
            cache_time: settings.cache_time,
            timeout: settings.request_timeout,
            max_wait: settings.max_wait,
            route: ConnectOptions { proxies: self.trees.proxies().clone(), ..ConnectOptions::default() },
        };
        brave_search(config).map_err(|why| why.to_string())
    }

    fn shell(&self, settings: &ShellSettings) -> Result<InProcess, String> {
        let root = &settings.root;
        let directory =
            root.canonicalize().map_err(|why| format!("cannot use directory `{}`: {why}", root.display()))?;
        Ok(shell(ShellConfig {
            toolset: match settings.toolset {
                ToolsetName::Bash => ShellToolset::Bash,
                ToolsetName::Sessions => ShellToolset::Sessions,
                ToolsetName::Commands => ShellToolset::Commands,
                ToolsetName::ShellServer => ShellToolset::ShellServer,
                _ => ShellToolset::Exec,
            },
            read: settings.read.clone(),
            write: settings.write.clone(),
            hide: self.own_paths.clone(),
            protection: if settings.protect { Protection::Protect } else { Protection::Allow },
            home: self.home.clone(),
            network: match settings.network {
                NetworkAccess::None => Network::None,
                NetworkAccess::Allow => Network::Allow,
            },
            limits: limits(settings.limits),
            sandbox: match settings.sandbox {
                SandboxLevel::Full => Level::Full,
                SandboxLevel::Partial => Level::Partial,
                SandboxLevel::None => Level::None,
            },
            environment: self.environment.clone(),
            allow_commands: settings.allow_commands.clone(),
            results: self.open_results(),
            ..ShellConfig::new(directory)
        }))
    }

    fn fetch(&self, settings: &FetchSettings) -> InProcess {
        fetch(FetchConfig {
            user_agent: settings.user_agent.clone(),
            ignore_robots_txt: settings.ignore_robots_txt,
            proxy_url: settings.proxy_url.clone(),
            allow_private: settings.private_addresses,
            route: ConnectOptions { proxies: self.trees.proxies().clone(), ..ConnectOptions::default() },
        })
    }

    /// Without it, the middle of long outputs is lost, and nothing else.
    fn open_results(&self) -> Option<ResultStore> {
        let opened = self.results.as_ref()?.open();
        opened.inspect_err(|why| tracing::warn!("cannot keep long results: {why}")).ok()
    }

    /// The memories of a file, or of a project where none is given. Text files are in a directory.
    fn memory(&self, settings: &MemorySettings, project: Option<&Path>) -> Result<InProcess, String> {
        let (toolset, extension) = match settings.toolset {
            ToolsetName::Anthropic => (MemoryToolset::Anthropic, ""),
            _ => (MemoryToolset::Graph, ".jsonl"),
        };
        let path = match (&settings.memory_file, &self.memories) {
            (Some(file), _) => file.clone(),
            (None, Some(folder)) => folder.join(memory_name(project) + extension),
            (None, None) => {
                return Err("no directory for memories: HOME is not set; set `memory_file`".to_owned());
            }
        };
        let mut config = MemoryConfig { toolset, path, ..MemoryConfig::default() };
        if let Some(max) = settings.max_entities {
            config.max_entities = usize::try_from(max).unwrap_or(usize::MAX);
        }
        if let Some(max) = settings.max_mb {
            config.max_bytes = max.saturating_mul(1 << 20);
        }
        Ok(memory(config))
    }
}

/// Reports directories that cannot be used; without any other there is no server.
fn usable(
    connect: InProcess,
    skipped: &[(PathBuf, io::Error)],
    directories: &[PathBuf],
) -> Result<InProcess, String> {
    for (path, why) in skipped {
        tracing::warn!("cannot use directory `{}`: {why}", path.display());
    }
    match skipped {
        [(path, why), ..] if skipped.len() == directories.len() => {
            Err(format!("cannot use directory `{}`: {why}", path.display()))
        }
        _ => Ok(connect),
    }
}

fn secrets(settings: &FileSettings) -> Secrets {
    if settings.secrets { Secrets::Shown } else { Secrets::Hidden }
}

fn protection(settings: &FileSettings) -> Protection {
    if settings.protect { Protection::Protect } else { Protection::Allow }
}

fn write_mode(settings: &FileSettings) -> WriteMode {
    if settings.write_in_place { WriteMode::InPlace } else { WriteMode::Atomic }
}

fn client_roots(setting: toolbay_config::RootsSetting) -> ClientRoots {
    match setting {
        toolbay_config::RootsSetting::Narrow => ClientRoots::Narrow,
        toolbay_config::RootsSetting::Ignore => ClientRoots::Ignore,
    }
}

/// The name of a project for people, and a hash that keeps projects of the same name apart.
fn memory_name(project: Option<&Path>) -> String {
    let Some(project) = project else { return "default".to_owned() };
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let hash = Sha256::digest(project.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{hash}")
}

fn limits(settings: ShellLimits) -> Limits {
    let usual = Limits::default();
    let megabytes = |count: Option<u64>| count.map(|count| count.saturating_mul(1 << 20));
    Limits {
        processes: settings.processes.unwrap_or(usual.processes),
        memory: megabytes(settings.memory_mb).unwrap_or(usual.memory),
        cpu_seconds: settings.cpu_seconds.unwrap_or(usual.cpu_seconds),
        file_size: megabytes(settings.file_mb).unwrap_or(usual.file_size),
        ..usual
    }
}
