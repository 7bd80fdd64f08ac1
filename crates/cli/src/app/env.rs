//! Environment variables. Nothing else in Toolbay reads them.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio_util::task::TaskTracker;
use toolbay_config::{complete_path, shell_to_ask};
use toolbay_control::SocketDirs;
use toolbay_host::{Host, PathSender, Shim};
use toolbay_secrets::{BusAddress, KeyringPrompts, StoreConfig, StoreKey};
use toolbay_supervise::login_path;

use crate::app::context::Context;

/// The environment variables that we use.
#[derive(Debug)]
pub(crate) struct Env {
    /// `TOOLBAY_RUNTIME_DIR` if it is set, else `/run/user/UID`, `/tmp`, `XDG_RUNTIME_DIR` and `TMPDIR`: directories for sockets.
    sockets: SocketDirs,
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, or `.config` below `HOME`: configuration files.
    pub(crate) config_dir: Option<PathBuf>,
    /// `XDG_DATA_HOME`, or `.local/share` below `HOME`: installed bundles.
    data_dir: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, or `.cache` below `HOME`: catalogs and indexes.
    cache_dir: Option<PathBuf>,
    /// `XDG_STATE_HOME`, or `.local/state` below `HOME`: logs and keys.
    state_dir: Option<PathBuf>,
    /// `RUST_LOG`: the filter of our own log.
    pub(crate) log_filter: Option<String>,
    /// Whether `NO_COLOR` and `TERM` allow colors.
    pub(crate) allows_color: bool,
    /// All variables, for servers to inherit from as their entries say.
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

/// The directories of a user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Folders {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    data: Option<PathBuf>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    sockets: Vec<PathBuf>,
}

impl Env {
    pub(crate) fn read() -> Self {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let get = |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let absolute = |value: &OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        let home = get("HOME").and_then(absolute);
        let folder = |name: &str, below_home: &str| {
            get(name).and_then(absolute).or_else(|| Some(home.as_ref()?.join(below_home)))
        };
        Self {
            config_dir: folder("XDG_CONFIG_HOME", ".config"),
            cache_dir: folder("XDG_CACHE_HOME", ".cache"),
            data_dir: folder("XDG_DATA_HOME", ".local/share"),
            state_dir: folder("XDG_STATE_HOME", ".local/state"),
            sockets: match get("TOOLBAY_RUNTIME_DIR").and_then(absolute) {
                Some(only) => SocketDirs::only(&only),
                None => {
                    let runtime = get("XDG_RUNTIME_DIR").and_then(absolute);
                    SocketDirs::new(runtime.as_deref(), &std::env::temp_dir())
                }
            },
            log_filter: get("RUST_LOG").and_then(|value| value.to_str()).map(str::to_owned),
            allows_color: get("NO_COLOR").is_none() && get("TERM").is_none_or(|term| term != "dumb"),
            home,
            variables,
        }
    }

    /// Whether this process is a server of a hub.
    pub(crate) fn is_supervised(&self) -> bool {
        self.variables.contains_key(OsStr::new(toolbay_supervise::MARKER))
    }

    /// The directories for sockets of hubs.
    pub(crate) fn socket_dirs(&self) -> &SocketDirs {
        &self.sockets
    }

    /// The directories of this user.
    pub(crate) fn folders(&self) -> Folders {
        Folders {
            home: self.home.clone(),
            config: self.config_dir.clone(),
            data: self.data_dir.clone(),
            cache: self.cache_dir.clone(),
            state: self.state_dir.clone(),
            sockets: self.sockets.paths().to_vec(),
        }
    }

    /// The same environment with other directories.
    pub(crate) fn with_folders(self, folders: &Folders) -> Self {
        let Folders { home, config, data, cache, state, sockets } = folders.clone();
        Self {
            home,
            config_dir: config,
            data_dir: data,
            cache_dir: cache,
            state_dir: state,
            sockets: SocketDirs::these(sockets),
            ..self
        }
    }

    /// The cache of the login shell's environment.
    pub(crate) fn login_environment(&self) -> Option<PathBuf> {
        self.cache_dir.as_ref().map(|folder| folder.join("toolbay/login-environment"))
    }

    /// The directory for logs of hubs in the background.
    pub(crate) fn logs(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/logs"))
    }

    /// The file with the key that seals ids of tasks.
    pub(crate) fn task_key(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/tasks.key"))
    }

    /// The file with the tokens of hubs.
    pub(crate) fn hub_tokens(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/tokens.json"))
    }

    /// The directory for locks of logins.
    pub(crate) fn logins(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/logins"))
    }

    /// The directory of the authorization proxy.
    pub(crate) fn auth_proxy(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/auth-proxy"))
    }

    /// The file with the approvals.
    pub(crate) fn approvals(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/approvals.json"))
    }

    /// The file with the pins of servers' definitions.
    pub(crate) fn pins(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/pins.json"))
    }

    /// The directory of the audit log.
    pub(crate) fn audit(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/audit"))
    }

    /// The directory of descriptions: manifests of extensions, unpacked bundles, entries of the registry.
    pub(crate) fn extensions(&self) -> Option<PathBuf> {
        self.data_dir.as_ref().map(|folder| folder.join("toolbay/extensions"))
    }

    /// The directory for memories of projects.
    pub(crate) fn memories(&self) -> Option<PathBuf> {
        self.data_dir.as_ref().map(|folder| folder.join("toolbay/memory"))
    }

    /// The directory for long results of tools.
    pub(crate) fn results(&self) -> Option<PathBuf> {
        self.state_dir.as_ref().map(|folder| folder.join("toolbay/results"))
    }

    /// Everything that is ours alone: configuration, state and sockets.
    pub(crate) fn own_paths(&self) -> Vec<PathBuf> {
        let folders = [&self.config_dir, &self.data_dir, &self.cache_dir, &self.state_dir];
        let mut paths: Vec<PathBuf> =
            folders.into_iter().flatten().map(|folder| folder.join("toolbay")).collect();
        paths.push("/etc/toolbay".into());
        paths.extend(self.sockets.paths().iter().cloned());
        paths
    }

    /// The store of secrets: a file beside the configuration, which says where they are. None without a home.
    ///
    /// `DBUS_SESSION_BUS_ADDRESS` or else `/run/user/UID/bus` leads to the keyring. The key of an encrypted file is in the file that
    /// `TOOLBAY_SECRET_KEY_FILE` names, or in the credential `toolbay-secret-key` of systemd (`CREDENTIALS_DIRECTORY`).
    pub(crate) fn secret_store(&self, prompts: KeyringPrompts) -> Option<StoreConfig> {
        let get = |name: &str| self.variables.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let bus =
            get("DBUS_SESSION_BUS_ADDRESS").and_then(|value| BusAddress::from_variable(value.to_str()?));
        let of_user = BusAddress::of_user(rustix::process::getuid().as_raw());
        let key_file = get("TOOLBAY_SECRET_KEY_FILE").map(StoreKey::file);
        let credential = || {
            let path = Path::new(get("CREDENTIALS_DIRECTORY")?).join("toolbay-secret-key");
            path.exists().then(|| StoreKey::credential(path))
        };
        Some(StoreConfig {
            path: self.config_dir.as_ref()?.join("toolbay/secrets"),
            kind: None,
            buses: bus.into_iter().chain([of_user]).collect(),
            key: key_file.or_else(credential).map(Arc::new),
            prompts,
        })
    }

    /// The directory for indexes of code.
    pub(crate) fn indexes(&self) -> Option<PathBuf> {
        self.cache_dir.as_ref().map(|folder| folder.join("toolbay/code"))
    }

    /// The directory of cached catalogs.
    pub(crate) fn catalogs(&self) -> Option<PathBuf> {
        self.cache_dir.as_ref().map(|folder| folder.join("toolbay/catalogs"))
    }
}

/// Sends the `PATH` of the login shell to the servers of a host. The hub serves meanwhile.
///
/// A desktop starts programs with the bare `PATH` of the system; the user's login shell knows the rest.
pub(crate) async fn send_login_path(
    shell: PathBuf,
    ours: BTreeMap<OsString, OsString>,
    sender: PathSender,
    host: Host,
) {
    tokio::select! {
        () = host.stopping() => {}
        path = login_shell_path(&shell, &ours, host.tasks()) => {
            if let Some(path) = path {
                sender.send(path);
            }
        }
    }
}

/// Our variables as servers of a hub would inherit them.
pub(crate) async fn environment(context: &Context) -> BTreeMap<OsString, OsString> {
    let ours = &context.env.variables;
    let mut environment = ours.clone();
    if let Some(shell) = shell_to_ask(ours)
        && let Some(path) = login_shell_path(&shell, ours, &context.tasks).await
    {
        environment.insert("PATH".into(), path);
    }
    environment
}

async fn login_shell_path(
    shell: &Path,
    ours: &BTreeMap<OsString, OsString>,
    tasks: &TaskTracker,
) -> Option<OsString> {
    match login_path(shell, ours.clone(), &Shim::current_exe(), tasks).await {
        Ok(login) => {
            let path = ours.get(OsStr::new("PATH")).cloned().unwrap_or_default();
            Some(complete_path(&path, &login))
        }
        Err(error) => {
            tracing::warn!(shell = %shell.display(), "{error}; servers get the PATH of Toolbay");
            None
        }
    }
}
