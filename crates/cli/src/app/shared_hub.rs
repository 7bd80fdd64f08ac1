//! The hub that clients on stdio share: finding it, and starting it in the background.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use toolbay_control::{Build, ControlClient, ControlError, HubAddress, millis};
use toolbay_host::{Naming, Shim};
use toolbay_supervise::{LoginShell, RotatingFile, SpawnError, daemon};

use crate::app::{
    context::Context,
    env::{Env, Folders},
    hub::HubPlan,
};

/// How long a hub may take to listen. It does so before it starts any server.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a hub may take to respond with its status, which it has in memory.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);
/// How often one looks whether a hub that starts is there.
const LOOK: Duration = Duration::from_millis(5);
/// As `LOOK`, once it takes longer.
const SLOW_LOOK: Duration = Duration::from_millis(25);

/// The arguments of a hub in the background. It has the environment of the login shell, and must yet read the files
/// that its clients mean.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HubSpec {
    pub(crate) folders: Folders,
    /// The project whose files count, too.
    pub(crate) project: Option<PathBuf>,
    /// The path of its log.
    pub(crate) log: PathBuf,
}

impl FromStr for HubSpec {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

/// Why there is no hub to share.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShareError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("cannot start the background hub")]
    Start(#[source] SpawnError),
    #[error("cannot pass the configuration to the background hub")]
    Encode(#[source] serde_json::Error),
    #[error("the background hub exited during startup; see its log {}", log.display())]
    Ended { log: PathBuf },
    #[error("the background hub did not start within {} s; see its log {}", START_TIMEOUT.as_secs(), log.display())]
    Slow { log: PathBuf },
    #[error("the running hub uses another naming (`{theirs}`)")]
    OtherNaming { theirs: String },
    #[error("the running hub was started in the home directory or in `/` and offers no codebase")]
    NoCodebase,
}

/// The hub of one configuration, wherever it is.
#[derive(Debug)]
pub(crate) struct SharedHub<'a> {
    context: &'a Context,
    place: HubAddress,
    spec: HubSpec,
    /// The file given with `--config`.
    config: Option<PathBuf>,
    /// Whether the client is in a project, and nothing but a codebase is there for it.
    needs_codebase: bool,
}

impl<'a> SharedHub<'a> {
    /// The hub that serves this plan.
    pub(crate) fn new(context: &'a Context, plan: &HubPlan) -> Self {
        let place = context.env.socket_dirs().place(&plan.identity.files);
        let log = log_file(&context.env, &place);
        let spec = HubSpec { folders: context.env.folders(), project: plan.identity.project.clone(), log };
        let config = plan.identity.is_explicit.then(|| plan.identity.files.first().cloned()).flatten();
        Self { context, place, spec, config, needs_codebase: plan.folder.is_some() }
    }

    pub(crate) fn log(&self) -> &Path {
        &self.spec.log
    }

    /// Connects to the hub as an MCP client, and starts one first if none runs.
    pub(crate) async fn join_or_start(&self) -> Result<UnixStream, ShareError> {
        let began = Instant::now();
        loop {
            if let Some(hub) = attach(&self.find_or_start().await?).await? {
                return Ok(hub);
            }
            // It has just ended, or only begun to listen.
            if began.elapsed() > START_TIMEOUT {
                return Err(ShareError::Slow { log: self.spec.log.clone() });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Connects to the hub as an MCP client, if one runs. One of an older program makes room instead.
    pub(crate) async fn join(&self) -> Result<Option<UnixStream>, ShareError> {
        match self.find().await? {
            Some(client) => attach(&client).await,
            None => Ok(None),
        }
    }

    /// The running hub; one is started if none runs.
    pub(crate) async fn find_or_start(&self) -> Result<ControlClient, ShareError> {
        let began = Instant::now();
        let mut starting = None;
        loop {
            if let Some(hub) = self.find().await? {
                return Ok(hub);
            }
            match &starting {
                None => {
                    if let Some(lock) = self.place.try_lock_start()? {
                        // The process that held the lock before us may have started the hub.
                        if let Some(hub) = self.find().await? {
                            return Ok(hub);
                        }
                        starting = Some((lock, self.start().await?));
                    }
                }
                Some((_, pid)) if !daemon::is_alive(*pid) => {
                    // Another one may have been faster, and that one is there.
                    let found = self.find().await?;
                    return found.ok_or_else(|| ShareError::Ended { log: self.spec.log.clone() });
                }
                Some(_) => {}
            }
            let waited = began.elapsed();
            if waited > START_TIMEOUT {
                return Err(ShareError::Slow { log: self.spec.log.clone() });
            }
            tokio::time::sleep(if waited < Duration::from_secs(1) { LOOK } else { SLOW_LOOK }).await;
        }
    }

    /// The running hub, if there is one. One of an older program makes room instead.
    async fn find(&self) -> Result<Option<ControlClient>, ShareError> {
        let client = match ControlClient::at(&self.place).await {
            Ok(client) => client,
            Err(ControlError::NoHub) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let response = tokio::time::timeout(STATUS_TIMEOUT, client.hub()).await;
        if let Ok(Ok(hub)) = response {
            if hub.background && build().supersedes(&hub.build) {
                tracing::info!("replacing the hub of process {} with a newer version", hub.pid);
                // A hub that ends meanwhile was replaced, too.
                let _ = tokio::time::timeout(STATUS_TIMEOUT, client.drain()).await;
                return Ok(None);
            }
            let wanted = self.context.args.global.naming.map(naming_text);
            if wanted.is_some_and(|wanted| wanted != hub.naming) {
                return Err(ShareError::OtherNaming { theirs: hub.naming });
            }
            // A hub in the background offers a codebase to each client that is in a project.
            if self.needs_codebase && !hub.background && client.snapshot().await?.folder.is_none() {
                return Err(ShareError::NoCodebase);
            }
        }
        Ok(Some(client))
    }

    /// Starts a hub, without waiting until it listens, and returns its process id.
    pub(crate) async fn start(&self) -> Result<u32, ShareError> {
        // It writes to its log from the start. Without a log there is no hub, and the error below says so.
        let _ = open_log(&self.spec.log);
        let spec = serde_json::to_string(&self.spec).map_err(ShareError::Encode)?;
        let mut args: Vec<OsString> = vec!["__hub".into(), spec.into()];
        if let Some(config) = &self.config {
            args.extend(["--config".into(), config.into()]);
        }
        if let Some(naming) = self.context.args.global.naming {
            args.extend(["--naming".into(), naming_text(naming).into()]);
        }
        let env = environment(self.context).await;
        let daemon = daemon::Daemon { name: "toolbay".into(), args, env, log: self.spec.log.clone() };
        daemon.start().await.map_err(ShareError::Start)
    }
}

async fn attach(hub: &ControlClient) -> Result<Option<UnixStream>, ShareError> {
    match hub.attach().await {
        Ok(stream) => Ok(Some(stream)),
        Err(ControlError::NoHub) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The identity of this executable.
pub(crate) fn build() -> Build {
    use std::os::unix::fs::MetadataExt;
    // The running program, even if its file was replaced since.
    let file = fs::metadata("/proc/self/exe").ok();
    let id = file.as_ref().map(|file| format!("{}:{}:{}", file.dev(), file.ino(), file.len()));
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        id: id.unwrap_or_default(),
        modified_ms: file.and_then(|file| file.modified().ok()).map_or(0, millis),
    }
}

/// The value of `--naming`.
pub(crate) fn naming_text(naming: Naming) -> &'static str {
    match naming {
        Naming::Prefix => "prefix",
        Naming::None => "none",
        Naming::PrefixAndAlias => "prefix+alias",
    }
}

/// The path of the log of a hub in the background.
fn log_file(env: &Env, place: &HubAddress) -> PathBuf {
    match env.logs() {
        Some(folder) => folder.join(format!("hub-{}.log", place.name())),
        None => PathBuf::from("/dev/null"),
    }
}

/// Opens the log of a hub in the background, which is put aside when it is long.
pub(crate) fn open_log(path: &Path) -> io::Result<RotatingFile> {
    RotatingFile::open(path, RotatingFile::MAX_SIZE, RotatingFile::MAX_FILES)
}

/// The files of such a log, newest first, whether they are there or not.
pub(crate) fn log_files(path: &Path) -> impl Iterator<Item = PathBuf> {
    RotatingFile::files(path, RotatingFile::MAX_FILES)
}

/// The environment of a hub in the background: that of the login shell, never that of the client that happened to come first.
async fn environment(context: &Context) -> BTreeMap<OsString, OsString> {
    /// Variables that describe the shell itself, not the user.
    const OF_THE_SHELL: [&str; 5] = [toolbay_supervise::MARKER, "_", "SHLVL", "PWD", "OLDPWD"];
    let env = &context.env;
    let mut minimal: BTreeMap<OsString, OsString> =
        [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into();
    minimal.extend(env.home.as_ref().map(|home| ("HOME".into(), home.into())));
    let shell = LoginShell::of_user(minimal, env.login_environment());
    let mut variables = shell.environment(&Shim::current_exe(), &context.tasks).await;
    variables.retain(|name, _| !OF_THE_SHELL.iter().any(|other| name == other));
    variables
}
