//! Servers that are offered without an entry, each for the project of its client: `codebase`, and with `--builtins` more.

use std::path::{Path, PathBuf};

use toolbay_config::{
    BuiltIn, CodebaseSettings, FileSettings, GrepSettings, MemorySettings, Permission, RootsSetting,
    ServerConfig, ServerEndpoint, ServerOptions,
};
use toolbay_control::Note;
use toolbay_protocol::ServerName;

use crate::app::env::Env;

/// The name of the default codebase server.
const CODEBASE: &str = "codebase";

/// Why a client outside of any project can search nothing, and what to do about it.
pub(crate) const NO_FOLDER: &str = "No codebase is offered because Toolbay was started in the home directory or in `/`. Start it in \
     a project, or configure a directory, for example: toolbay add code --builtin codebase /path/to/project";

/// The built-in servers that do more than most users expect of a default, and how each is enabled.
const OFF: [(&str, &str); 2] = [
    ("shell", "off; enable with: toolbay add shell --builtin shell"),
    (
        "brave-search",
        "off; enable with: toolbay add brave-search --builtin brave-search --set 'api_key=${BRAVE_API_KEY}'",
    ),
];

/// The servers that a hub offers without an entry.
#[derive(Debug, Clone)]
pub(crate) struct DefaultServers {
    /// The folder for clients outside of any project; none where Toolbay is in none either.
    pub(crate) folder: Option<PathBuf>,
    /// Whether there is a project for any client.
    pub(crate) is_offered: bool,
    /// Whether `codebase` is among them; not where a file was given, which lists all there is.
    offers_codebase: bool,
    /// Whether the other built-in servers are.
    pub(crate) offers_builtins: bool,
    here: PathBuf,
    home: Option<PathBuf>,
}

impl DefaultServers {
    /// For a hub that was started in `here`, or for one that is in no folder itself: each of its clients is in one.
    pub(crate) fn new(env: &Env, here: Option<&Path>, is_explicit: bool) -> Self {
        let folder = here.and_then(|here| usual_folder(env.home.as_deref(), here));
        Self {
            is_offered: folder.is_some() || here.is_none(),
            offers_codebase: !is_explicit,
            offers_builtins: false,
            here: here.unwrap_or(Path::new("/")).to_owned(),
            folder,
            home: env.home.clone(),
        }
    }

    /// Those that a configuration with these servers does not replace.
    pub(crate) fn beside(&self, configured: &[ServerConfig]) -> Vec<ServerConfig> {
        let mut servers = Vec::new();
        if !self.is_offered {
            return servers;
        }
        if self.offers_builtins {
            let is_free = |name: &str| !configured.iter().any(|server| server.name.as_str() == name);
            let free = builtins().into_iter().filter(|(name, _)| is_free(name));
            servers.extend(free.map(|(name, settings)| server(name, settings)));
        }
        if self.offers_codebase && !is_codebase_replaced_by(configured) {
            servers.push(server(CODEBASE, self.codebase()));
        }
        servers
    }

    /// Whether a server is one of them.
    pub(crate) fn contains(&self, other: &ServerConfig) -> bool {
        let is_builtin = || {
            builtins().into_iter().any(|(name, settings)| {
                let mut known = server(name, settings);
                known.tuning.max_result = other.tuning.max_result; // that of the hub
                *other == known
            })
        };
        self.is_default_codebase(&other.endpoint) || self.offers_builtins && is_builtin()
    }

    fn is_default_codebase(&self, endpoint: &ServerEndpoint) -> bool {
        self.offers_codebase
            && matches!(endpoint, ServerEndpoint::BuiltIn(settings) if *settings == self.codebase())
    }

    fn codebase(&self) -> BuiltIn {
        BuiltIn::Codebase(CodebaseSettings { root: self.here.clone(), ..CodebaseSettings::default() })
    }

    /// Whether `codebase` is left out because there is no project.
    pub(crate) fn lacks_codebase(&self, configured: &[ServerConfig]) -> bool {
        self.offers_codebase && !self.is_offered && !is_codebase_replaced_by(configured)
    }

    /// Whether a server would be the default codebase in a folder that is there.
    pub(crate) fn lacks_folder(&self, endpoint: &ServerEndpoint) -> bool {
        self.is_default_codebase(endpoint) && self.folder.is_none()
    }

    /// The settings of a server for clients in a project, if it is for the project of its client: the default codebase, and servers
    /// for files or memories that name none.
    pub(crate) fn settings_in(&self, endpoint: &ServerEndpoint, root: &Path) -> Option<BuiltIn> {
        let ServerEndpoint::BuiltIn(settings) = endpoint else { return None };
        let root = usual_folder(self.home.as_deref(), root)?;
        if self.is_default_codebase(endpoint) {
            return Some(BuiltIn::Codebase(CodebaseSettings { root, ..CodebaseSettings::default() }));
        }
        in_project(settings, &root)
    }

    /// The settings of a server for clients outside of any project.
    pub(crate) fn settings(&self, settings: &BuiltIn) -> BuiltIn {
        match (&self.folder, settings) {
            (Some(folder), settings) => in_project(settings, folder).unwrap_or_else(|| settings.clone()),
            // Only a server that is alone may take its directories from its client.
            (None, BuiltIn::Filesystem(files)) if files.directories.is_empty() => {
                BuiltIn::Filesystem(FileSettings { client_roots: RootsSetting::Ignore, ..files.clone() })
            }
            (None, settings) => settings.clone(),
        }
    }

    /// What the status says about built-in servers that are not offered.
    pub(crate) fn off_notes(&self) -> Vec<Note> {
        let notes = OFF.iter().filter(|_| self.offers_builtins);
        notes.map(|(server, text)| Note { server: (*server).to_owned(), text: (*text).to_owned() }).collect()
    }
}

/// The servers that are offered with `--builtins`. They name no directory, which stands for the project of the client.
fn builtins() -> [(&'static str, BuiltIn); 4] {
    let files = FileSettings::default();
    [
        ("filesystem", BuiltIn::Filesystem(files.clone())),
        ("text-editor", BuiltIn::TextEditor(files)),
        ("grep", BuiltIn::Grep(GrepSettings::default())),
        ("memory", BuiltIn::Memory(MemorySettings::default())),
    ]
}

/// The same settings for a project, if they depend on it.
fn in_project(settings: &BuiltIn, root: &Path) -> Option<BuiltIn> {
    let files = |settings: &FileSettings| {
        let directories = vec![root.to_owned()];
        settings.directories.is_empty().then(|| FileSettings { directories, ..settings.clone() })
    };
    match settings {
        BuiltIn::Filesystem(settings) => files(settings).map(BuiltIn::Filesystem),
        BuiltIn::TextEditor(settings) => files(settings).map(BuiltIn::TextEditor),
        BuiltIn::Grep(settings) if settings.directories.is_empty() => {
            Some(BuiltIn::Grep(GrepSettings { directories: vec![root.to_owned()], ..settings.clone() }))
        }
        _ => None,
    }
}

fn server(name: &str, settings: BuiltIn) -> ServerConfig {
    ServerConfig {
        secrets: Vec::new(),
        name: ServerName::new(name),
        endpoint: ServerEndpoint::BuiltIn(settings),
        permission: Permission::Enabled,
        tuning: ServerOptions::default(),
    }
}

/// Whether a configuration with these servers replaces the default codebase server.
fn is_codebase_replaced_by(servers: &[ServerConfig]) -> bool {
    servers.iter().filter(|server| server.permission != Permission::Pending).any(|server| {
        server.name.as_str() == CODEBASE
            || matches!(server.endpoint, ServerEndpoint::BuiltIn(BuiltIn::Codebase(_)))
    })
}

/// The folder that is offered where nothing is configured: the one we are in. Not the whole disk nor a whole home, which
/// is hardly intended.
pub(crate) fn usual_folder(home: Option<&Path>, here: &Path) -> Option<PathBuf> {
    let is_home = home == Some(here);
    (here.parent().is_some() && !is_home).then(|| here.to_owned())
}
