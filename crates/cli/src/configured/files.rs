//! The configuration files of a command, and their content.
//!
//! With `--config` it is that file alone, and it counts as approved. Without, it is the user's own file and the files of the project that
//! this folder belongs to; servers of a project wait for approval.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use toolbay_bundle::{Descriptors, Machine, Platform};
use toolbay_config::{
    Approvals, ConfigError, ConfigFile, Origin, Permission, Problem, ReadFiles, SecretCommands, ServerConfig,
    Variables, WrittenServer, load_from,
    scope::{Placed, Reading, Scope, ScopeReader, ScopedFile, find_project, scoped_files, user_file},
};

use toolbay_host::ConfigProblem;
use toolbay_supervise::find_command;

use crate::{
    app::{
        context::Context,
        cycle::{ITSELF, OwnHub},
        default_servers::DefaultServers,
        error::CliError,
        hub::absolute,
        pins::DefinitionReview,
        user_secrets::UserSecrets,
    },
    args::Command,
};

/// The files of one hub.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) files: Vec<ScopedFile>,
    /// The folder whose servers must be approved.
    pub(crate) project: PathBuf,
    /// Whether the file was given with `--config`.
    pub(crate) is_explicit: bool,
    /// The problems that were reported already.
    pub(crate) complained: Vec<ConfigProblem>,
    /// The servers that are offered without an entry.
    pub(crate) defaults: DefaultServers,
    reader: ScopeReader,
    /// How the definitions of servers are pinned, where servers are run.
    pub(crate) pins: Option<Arc<DefinitionReview>>,
    /// The secrets that servers may refer to.
    pub(crate) secrets: UserSecrets,
    /// The user's own file, whose commands for secrets count even if another file was given.
    user_file: Option<PathBuf>,
    approvals: Option<PathBuf>,
    loader: Loader,
}

/// The identity of a hub: hubs of one user with the same identity are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The files that it serves.
    pub(crate) files: Vec<PathBuf>,
    /// The project that they belong to.
    pub(crate) project: Option<PathBuf>,
    /// Whether the file was given with `--config`.
    pub(crate) is_explicit: bool,
}

impl Identity {
    /// The hub of the user's own file, for all projects that bring nothing.
    pub(crate) fn of_user(&self) -> Self {
        let files = self.files.iter().take(1).cloned().collect();
        Self { files, project: None, is_explicit: false }
    }
}

/// What reading a file depends on.
#[derive(Debug)]
struct Loader {
    variables: Variables,
    extensions: Option<PathBuf>,
    here: Machine,
    /// The `PATH` for programs.
    path: OsString,
}

impl Configuration {
    /// Finds the files; none need be there unless one was named.
    pub(crate) fn find(context: &Context) -> Result<Self, CliError> {
        let (project, here) = match &context.args.command {
            // It runs in `/`, and its clients report their directories.
            Some(Command::Background(args)) => (args.spec.project.clone(), args.spec.project.clone()),
            _ => {
                let here = std::env::current_dir().map_err(CliError::from)?;
                (Some(find_project(&here, context.env.home.as_deref())), Some(here))
            }
        };
        let typed = context.args.global.config.as_deref();
        let files = match typed {
            Some(typed) => vec![ScopedFile { scope: Scope::Local, path: absolute(typed)? }],
            None => scoped_files(context.env.config_dir.as_deref(), project.as_deref()),
        };
        Ok(Self {
            defaults: DefaultServers::new(&context.env, here.as_deref(), typed.is_some()),
            reader: ScopeReader::new(files.clone(), project.clone()),
            files,
            project: project.unwrap_or_else(|| PathBuf::from("/")),
            is_explicit: typed.is_some(),
            complained: Vec::new(),
            pins: None,
            secrets: UserSecrets::new(context),
            user_file: context.env.config_dir.as_deref().map(user_file),
            approvals: context.env.approvals(),
            loader: Loader {
                variables: variables(context, ReadFiles::Now),
                extensions: context.env.extensions(),
                here: Machine {
                    home: context.env.home.clone().unwrap_or_default(),
                    platform: Platform::HERE,
                },
                path: context.env.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default(),
            },
        })
    }

    /// Reads all files again. What is broken now counts as it was when it was last right. An entry that is this hub itself is
    /// switched off.
    pub(crate) fn read(&mut self) -> Reading {
        let (approvals, loader) = (self.approvals(), &self.loader);
        let mut reading = self.reader.read(&approvals, |path, origin| loader.load(path, origin));
        let own = self.own_hub().listening(&reading.hub.listen);
        for placed in reading.merged.servers.iter_mut().filter(|placed| own.is(&placed.server)) {
            if placed.server.permission == Permission::Enabled {
                placed.server.permission = Permission::Disabled;
                let server = Some(placed.server.name.as_str().to_owned());
                let problem =
                    Problem { server, message: ITSELF.to_owned(), location: placed.launch.location };
                reading.problems.push((placed.file.path.clone(), problem));
            }
        }
        self.secrets.set_commands(self.secret_commands(&reading));
        if let Some(pins) = &self.pins {
            pins.follow(&reading);
        }
        reading
    }

    /// The commands for secrets: those that were read, and those of the user's own file.
    fn secret_commands(&self, reading: &Reading) -> SecretCommands {
        let own = self.user_file.as_deref().filter(|_| self.is_explicit);
        let own = own.and_then(|file| self.loader.load(file, Origin::Own).ok());
        let mut commands = own.map(|own| own.secret_commands).unwrap_or_default();
        commands.extend(reading.secret_commands.clone());
        commands
    }

    /// The servers of a hub: those that were read, and the default ones.
    pub(crate) fn servers(&self, reading: Reading) -> Vec<ServerConfig> {
        let usual = reading.hub.max_result;
        let with_limit = |Placed { mut server, file, .. }: Placed| {
            let tuning = &mut server.tuning;
            tuning.max_result = tuning.max_result.or(usual);
            if let (Scope::Project, Some(usual @ 1..)) = (file.scope, usual) {
                // A project may have less of a result shown than the user wants, not more.
                let of_tools = tuning.tool.values_mut().filter_map(|tool| tool.max_result.as_mut());
                for limit in of_tools.chain(&mut tuning.max_result) {
                    *limit = if *limit == 0 { usual } else { usual.min(*limit) };
                }
            }
            server
        };
        let mut servers: Vec<ServerConfig> = reading.merged.servers.into_iter().map(with_limit).collect();
        let mut defaults = self.defaults.beside(&servers);
        defaults.iter_mut().for_each(|server| server.tuning.max_result = usual);
        servers.extend(defaults);
        servers
    }

    /// The hub that would have these files.
    pub(crate) fn own_hub(&self) -> OwnHub {
        let named = self.files.first().filter(|_| self.is_explicit).map(|file| file.path.clone());
        OwnHub { named, folder: self.project.clone(), addresses: Vec::new() }
    }

    /// The files that are there, in full.
    pub(crate) fn present(&self) -> Vec<PathBuf> {
        self.files.iter().filter_map(|file| file.path.canonicalize().ok()).collect()
    }

    /// The stored approvals.
    pub(crate) fn approvals(&self) -> Approvals {
        self.approvals.as_deref().map_or_else(|| Approvals::load(Path::new("")), Approvals::load)
    }

    /// The files to watch: those with servers, and those with approvals and pins.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let pins = self.pins.as_ref().map(|pins| pins.file().path().to_owned());
        self.reader.paths().into_iter().chain(self.approvals.clone()).chain(pins).collect()
    }

    /// The first of the files that is there: the named one, else the project's, else the user's.
    pub(crate) fn first_file(&self) -> Option<PathBuf> {
        let path = self.files.iter().map(|file| &file.path).find(|path| path.is_file())?;
        path.canonicalize().ok()
    }

    /// The identity of a hub of these files: the given file alone, else the user's own and, if anything in them
    /// was approved, those of the project.
    pub(crate) fn identity(&self, reading: &Reading) -> Identity {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.is_explicit {
            let files = self.files.iter().map(|file| canonical(&file.path)).collect();
            return Identity { files, project: None, is_explicit: true };
        }
        let of =
            |scope: Scope| self.files.iter().filter(move |file| file.scope == scope).map(|file| &file.path);
        // Whether it is there or not: it may come.
        let mut files: Vec<PathBuf> = of(Scope::User).map(|path| canonical(path)).collect();
        let is_approved = |placed: &Placed| {
            placed.file.scope == Scope::Project && placed.server.permission == Permission::Enabled
        };
        let has_project = reading.merged.servers.iter().any(is_approved);
        if has_project {
            files.extend(of(Scope::Project).filter(|path| path.is_file()).map(|path| canonical(path)));
        }
        Identity { files, project: has_project.then(|| self.project.clone()), is_explicit: false }
    }

    /// Reads one of the files.
    pub(crate) fn load(&self, path: &Path) -> Result<ConfigFile, ConfigError> {
        let is_of_project = |file: &ScopedFile| file.scope == Scope::Project && file.path == path;
        if !self.files.iter().any(is_of_project) {
            return self.loader.load(path, Origin::Own);
        }
        let approvals = self.approvals();
        let is_approved = |launch: &WrittenServer| approvals.is_approved(&self.project, launch);
        self.loader.load(path, Origin::Project { is_approved: &is_approved })
    }
}

impl Loader {
    /// Reads a file. Entries with settings alone become the servers that extensions describe.
    fn load(&self, path: &Path, origin: Origin<'_>) -> Result<ConfigFile, ConfigError> {
        let mut file = load_from(path, &self.variables, origin)?;
        if let Some(folder) = self.extensions.as_deref().filter(|_| !file.extensions.is_empty()) {
            let (descriptors, problems) = Descriptors::in_folder(folder);
            for problem in problems {
                tracing::warn!("{problem}");
            }
            let finds = |command: &str| find_command(command.as_ref(), &self.path, None).is_ok();
            let resolved = descriptors.resolve_all(&file.extensions, &self.here, finds);
            file.add_described(resolved.servers);
            file.problems.extend(resolved.problems);
        }
        Ok(file)
    }
}

/// The values of variables in files.
pub(crate) fn variables(context: &Context, files: ReadFiles) -> Variables {
    let text = |(name, value): (&std::ffi::OsString, &std::ffi::OsString)| {
        Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
    };
    let env: BTreeMap<String, String> = context.env.variables.iter().filter_map(text).collect();
    Variables { env, home: context.env.home.clone(), files, ..Variables::default() }
}

/// Whether anything in a reading may run.
pub(crate) fn runs_something(reading: &Reading) -> bool {
    reading.merged.servers.iter().any(|placed| placed.server.permission == Permission::Enabled)
}
