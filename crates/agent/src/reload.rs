//! The servers of an agent: those that the program named, and those of configuration files.
//!
//! Both are one list to the engine. Whatever changes, by [`Agent::add_server`](crate::Agent::add_server) or because a file was
//! saved, the whole list is made anew and applied: what is equal stays untouched.

use std::{ffi::OsStr, ffi::OsString, fmt, path::PathBuf, sync::Arc};

use tokio::sync::Mutex;
use toolbay_bundle::{Descriptors, Machine, Platform, read_manifest};
use toolbay_config::{ConfigError, ConfigFile, Problem, ServerConfig, Variables, WatchMethod, watch_files};
use toolbay_host::{ApplyReport, ConfigProblem, Host};
use toolbay_upstream::find_command;

/// Called for each entry of a file that cannot be used.
pub(crate) type OnProblem = Arc<dyn Fn(&Problem) + Send + Sync>;

/// The configured servers of an agent: those that its engine has now, of which some come from files.
///
/// Invariant: the lock is held while a list is applied, so that of two changes the later one counts.
#[derive(Debug, Default)]
pub(crate) struct ConfiguredServers {
    of_files: Mutex<Vec<ServerConfig>>,
}

impl ConfiguredServers {
    pub(crate) fn new(of_files: Vec<ServerConfig>) -> Self {
        Self { of_files: Mutex::new(of_files) }
    }

    /// Replaces the servers that the program named.
    pub(crate) async fn replace(&self, host: &Host, servers: &[ServerConfig]) -> ApplyReport {
        let of_files = self.of_files.lock().await;
        host.apply(&[servers, &of_files].concat()).await
    }

    /// Adds a server; false when the name is taken.
    pub(crate) async fn add(&self, host: &Host, server: ServerConfig) -> bool {
        let of_files = self.of_files.lock().await;
        if host.status(server.name.as_str()).is_some() {
            return false;
        }
        let mut own = named_by_program(host, &of_files);
        own.push(server);
        host.apply(&[own, of_files.clone()].concat()).await;
        true
    }

    /// Removes a server that the program named; false when there is none.
    pub(crate) async fn remove(&self, host: &Host, name: &str) -> bool {
        let of_files = self.of_files.lock().await;
        let mut own = named_by_program(host, &of_files);
        let before = own.len();
        own.retain(|server| server.name.as_str() != name);
        if own.len() == before {
            return false;
        }
        host.apply(&[own, of_files.clone()].concat()).await;
        true
    }

    /// Replaces the servers of files. A name that the program uses stays its own.
    async fn replace_files(&self, host: &Host, mut servers: Vec<ServerConfig>) {
        let mut of_files = self.of_files.lock().await;
        let own = named_by_program(host, &of_files);
        servers.retain(|server| own.iter().all(|other| other.name != server.name));
        of_files.clone_from(&servers);
        host.apply(&[own, servers].concat()).await;
    }
}

/// The configured servers of the engine that are not of files. Several agents may use one engine, so it alone knows.
fn named_by_program(host: &Host, of_files: &[ServerConfig]) -> Vec<ServerConfig> {
    let configured = host.statuses().into_iter().filter_map(|status| status.config);
    let is_own = |config: &Arc<ServerConfig>| of_files.iter().all(|other| other.name != config.name);
    configured.filter(is_own).map(|config| (*config).clone()).collect()
}

/// The configuration files of an agent.
pub(crate) struct ConfigFiles {
    pub(crate) files: Vec<FollowedFile>,
    /// Directory with descriptions of extensions.
    pub(crate) extensions: Option<PathBuf>,
    /// Texts of manifests.
    pub(crate) manifests: Vec<String>,
    pub(crate) variables: Variables,
    pub(crate) path: OsString,
    pub(crate) roots: Option<Vec<String>>,
    pub(crate) on_problem: Option<OnProblem>,
}

/// One file, and its servers as they were when it could last be used.
pub(crate) struct FollowedFile {
    pub(crate) path: PathBuf,
    pub(crate) is_followed: bool,
    pub(crate) servers: Vec<ServerConfig>,
}

impl ConfigFiles {
    /// Whether any file is followed.
    pub(crate) fn are_followed(&self) -> bool {
        self.files.iter().any(|file| file.is_followed)
    }

    /// Reads all files for the first time.
    ///
    /// # Errors
    ///
    /// When a file cannot be read. An entry that cannot be used is a problem, not an error.
    pub(crate) fn read_first(&mut self) -> Result<Vec<ServerConfig>, ConfigError> {
        let descriptors = self.descriptors(&mut Vec::new());
        for index in 0..self.files.len() {
            let read = toolbay_config::load_with(&self.files[index].path, &self.variables)?;
            let _ = self.take(index, read, &descriptors);
        }
        Ok(self.servers())
    }

    /// Reads the followed files again. What cannot be used counts as it was before.
    fn read_again(&mut self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        let descriptors = self.descriptors(&mut problems);
        for index in 0..self.files.len() {
            if self.files[index].is_followed {
                match toolbay_config::load_with(&self.files[index].path, &self.variables) {
                    Ok(read) => problems.extend(self.take(index, read, &descriptors)),
                    Err(error) => problems.push(ConfigProblem::general(error.to_string())),
                }
            }
        }
        problems
    }

    /// Takes over what was read of a file.
    fn take(&mut self, index: usize, read: ConfigFile, descriptors: &Descriptors) -> Vec<ConfigProblem> {
        let home = self.variables.home.clone().unwrap_or_default();
        let here = Machine { home, platform: Platform::HERE };
        let path = self.path.clone();
        let finds = |command: &str| find_command(OsStr::new(command), &path, None).is_ok();
        let resolved = descriptors.resolve_all(&read.extensions, &here, finds);
        let mut servers: Vec<ServerConfig> = read.servers.into_iter().chain(resolved.servers).collect();
        for server in &mut servers {
            server.tuning.roots = server.tuning.roots.take().or_else(|| self.roots.clone());
        }
        let mut problems = Vec::new();
        let file = &mut self.files[index];
        for problem in read.problems.iter().chain(&resolved.problems) {
            match &self.on_problem {
                Some(on_problem) => on_problem(problem),
                None => tracing::warn!("{}:{problem}", file.path.display()),
            }
            let before =
                file.servers.iter().find(|server| Some(server.name.as_str()) == problem.server.as_deref());
            servers.extend(before.cloned());
            problems.push(ConfigProblem {
                server: problem.server.clone(),
                message: format!("{}:{problem}", file.path.display()),
            });
        }
        file.servers = servers;
        problems
    }

    fn servers(&self) -> Vec<ServerConfig> {
        self.files.iter().flat_map(|file| file.servers.clone()).collect()
    }

    /// The extensions that are known now.
    fn descriptors(&self, problems: &mut Vec<ConfigProblem>) -> Descriptors {
        let (mut descriptors, mut broken) = match &self.extensions {
            Some(directory) => Descriptors::in_folder(directory),
            None => Default::default(),
        };
        for (index, manifest) in self.manifests.iter().enumerate() {
            match read_manifest(&format!("manifest {}", index + 1), manifest) {
                Ok(described) => {
                    broken.extend(described.problems);
                    broken.extend(described.sources.into_iter().filter_map(|it| descriptors.add(it).err()));
                }
                Err(error) => broken.push(error),
            }
        }
        for error in broken {
            tracing::warn!("{error}");
            problems.push(ConfigProblem::general(error.to_string()));
        }
        descriptors
    }
}

/// Applies every change of the files until the host stops.
pub(crate) async fn follow(host: Host, configured: Arc<ConfiguredServers>, mut files: ConfigFiles) {
    let followed = files.files.iter().filter(|file| file.is_followed).map(|file| file.path.clone());
    let mut watch = watch_files(&followed.collect::<Vec<_>>(), host.tasks());
    if let WatchMethod::Polled { reason } = watch.method() {
        tracing::warn!("configuration files are polled every second: {reason}");
    }
    let mut is_rejected = false;
    loop {
        // Read after the watch is set up, so that nothing is missed; on a thread of its own, because a disk may hang.
        let read = tokio::task::spawn_blocking(move || {
            let problems = files.read_again();
            (files, problems)
        });
        let problems;
        (files, problems) = tokio::select! {
            read = read => match read {
                Ok(read) => read,
                Err(error) => return tracing::error!("configuration files are no longer followed: {error}"),
            },
            () = host.stopping() => return,
        };
        if !problems.is_empty() {
            host.reject(&problems);
        } else if is_rejected {
            host.accept();
        }
        is_rejected = !problems.is_empty();
        configured.replace_files(&host, files.servers()).await;
        tokio::select! {
            () = watch.changed() => {}
            () = host.stopping() => return,
        }
    }
}

impl fmt::Debug for ConfigFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.iter().map(|file| &file.path)).finish()
    }
}
