//! What all descriptors have in common, and the set of those that are known.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};
use toolbay_config::{
    Command, Extension, Permission, Problem, ServerConfig, ServerEndpoint, ServerOptions, read_small_text,
};
use toolbay_protocol::ServerName;

use crate::{Bundle, DescriptorError, read_manifest, read_server_json, settings};

/// A server that can be installed.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    /// Unique among all; settings and users refer to it.
    pub id: String,
    /// The display name.
    pub name: String,
    /// What it is good for.
    pub description: Option<String>,
    /// Its own version.
    pub version: Option<String>,
    /// A picture: a URL, or a file in its bundle.
    pub icon: Option<String>,
    /// Where to read more.
    pub homepage: Option<String>,
    /// What its settings must look like: a JSON Schema. A property that is `writeOnly` is a secret.
    pub settings_schema: Value,
    /// What to do when its command is missing.
    pub installation_instructions: Option<String>,
    /// The kind of its description.
    pub origin: DescriptorOrigin,
    /// What it requires beyond being started, to be shown and confirmed.
    pub asks: Vec<String>,
}

/// Who describes a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorOrigin {
    /// The manifest of an extension.
    Manifest,
    /// A bundle (`.mcpb`).
    Bundle,
    /// A `server.json`, as the registry has it.
    Registry,
}

/// A description of a server with its endpoint.
pub trait DescriptorSource: fmt::Debug + Send + Sync {
    /// What it is.
    fn descriptor(&self) -> &Descriptor;

    /// How it is reached with these settings, which fit the schema and have their defaults.
    ///
    /// # Errors
    ///
    /// When it cannot be reached from here, whatever the settings.
    fn endpoint(
        &self,
        settings: &Map<String, Value>,
        here: &Machine,
    ) -> Result<ServerEndpoint, DescriptorError>;
}

/// What a file describes.
#[derive(Debug, Default)]
pub struct Described {
    /// What can be used.
    pub sources: Vec<Arc<dyn DescriptorSource>>,
    /// What cannot, and why.
    pub problems: Vec<DescriptorError>,
}

/// The properties of this machine that descriptions use.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The user's home.
    pub home: PathBuf,
    /// What we run on.
    pub platform: Platform,
}

/// An operating system, as bundles name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// `linux`
    Linux,
    /// `darwin`
    Mac,
    /// `win32`
    Windows,
}

impl Platform {
    /// The one that this program was built for.
    pub const HERE: Self = if cfg!(target_os = "macos") {
        Self::Mac
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Linux
    };

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Mac => "darwin",
            Self::Windows => "win32",
        }
    }
}

/// Whether the user confirmed what a server [asks](Descriptor::asks) for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// They have.
    Yes,
    /// They have not.
    No,
}

/// What is known of servers that can be installed.
#[derive(Debug, Clone, Default)]
pub struct Descriptors {
    sources: BTreeMap<String, Arc<dyn DescriptorSource>>,
}

impl Descriptors {
    /// Adds one. The first of two with the same id stays.
    ///
    /// # Errors
    ///
    /// When there is one with that id.
    pub fn add(&mut self, source: Arc<dyn DescriptorSource>) -> Result<(), DescriptorError> {
        let id = source.descriptor().id.clone();
        if self.sources.contains_key(&id) {
            return Err(DescriptorError::Taken { id });
        }
        self.sources.insert(id, source);
        Ok(())
    }

    /// The one with this id.
    pub fn get(&self, id: &str) -> Option<&Descriptor> {
        self.sources.get(id).map(|source| source.descriptor())
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Descriptor> {
        self.sources.values().map(|source| source.descriptor())
    }

    /// The server of a descriptor with these settings. `finds` returns whether a command exists.
    ///
    /// # Errors
    ///
    /// When there is no such descriptor, the settings do not match its schema, it requires something that was not confirmed, or its
    /// command is missing: then with a hint.
    pub fn resolve(
        &self,
        id: &str,
        name: ServerName,
        settings: &Value,
        confirmed: Confirmed,
        here: &Machine,
        finds: impl FnOnce(&str) -> bool,
    ) -> Result<ServerConfig, DescriptorError> {
        let source = self.sources.get(id).ok_or_else(|| DescriptorError::Unknown { id: id.to_owned() })?;
        let descriptor = source.descriptor();
        let settings = settings::check(descriptor, settings)?;
        if confirmed == Confirmed::No && !descriptor.asks.is_empty() {
            return Err(DescriptorError::Unconfirmed { id: id.to_owned(), asks: descriptor.asks.clone() });
        }
        let endpoint = source.endpoint(&settings, here)?;
        if let ServerEndpoint::Command(command) = &endpoint {
            check_command(id, command)?;
            if !finds(&command.command) {
                return Err(DescriptorError::CommandMissing {
                    id: id.to_owned(),
                    command: command.command.clone(),
                    instructions: descriptor.installation_instructions.clone(),
                });
            }
        }
        Ok(ServerConfig {
            name,
            endpoint,
            permission: Permission::Enabled,
            tuning: ServerOptions::default(),
            secrets: Vec::new(),
        })
    }
}

/// What no system could run, whatever filled it in.
fn check_command(id: &str, command: &Command) -> Result<(), DescriptorError> {
    let nul = |text: &String| text.contains('\0');
    let odd_name = |name: &String| name.is_empty() || name.contains('=') || nul(name);
    let odd = command.command.trim().is_empty()
        || nul(&command.command)
        || command.args.iter().any(nul)
        || command.env.iter().any(|(name, value)| odd_name(name) || nul(value));
    match odd {
        true => Err(DescriptorError::Broken {
            id: id.to_owned(),
            message: "its command is empty, or holds a NUL, or a variable's name a `=`".to_owned(),
        }),
        false => Ok(()),
    }
}

/// A larger file describes nothing.
const MAX_FILE: u64 = 4 << 20;

impl Descriptors {
    /// Reads a folder; one that is missing is empty. What cannot be used takes nothing from the rest.
    pub fn in_folder(folder: &Path) -> (Self, Vec<DescriptorError>) {
        let (mut descriptors, mut problems) = (Self::default(), Vec::new());
        let mut entries: Vec<_> = match fs::read_dir(folder) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return (descriptors, vec![broken(folder, &error)]),
        };
        // Of two with one id the first counts, on every machine the same.
        entries.sort();
        for path in entries {
            let described = match () {
                () if path.is_dir() => Bundle::open(&path)
                    .map(|bundle| Described { sources: vec![Arc::new(bundle)], problems: Vec::new() }),
                () if path.extension().is_some_and(|extension| extension == "json") => read_descriptor(&path),
                () => continue,
            };
            match described {
                Ok(described) => {
                    problems.extend(described.problems);
                    let added = described.sources.into_iter().map(|source| descriptors.add(source));
                    problems.extend(added.filter_map(Result::err));
                }
                Err(problem) => problems.push(problem),
            }
        }
        (descriptors, problems)
    }
}

fn read_descriptor(path: &Path) -> Result<Described, DescriptorError> {
    let text = read_small_text(path, MAX_FILE).map_err(|error| broken(path, &error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| broken(path, &error))?;
    match value.get("context_servers") {
        Some(_) => read_manifest(&path.file_stem().unwrap_or_default().to_string_lossy(), &text),
        None => read_server_json(&text),
    }
}

fn broken(path: &Path, why: &dyn std::fmt::Display) -> DescriptorError {
    DescriptorError::Broken { id: path.display().to_string(), message: why.to_string() }
}

/// The servers of such entries.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Servers that can be started.
    pub servers: Vec<ServerConfig>,
    /// Entries that cannot be used, and why.
    pub problems: Vec<Problem>,
}

impl Descriptors {
    /// Resolves these entries; the name of an entry is the id of its descriptor. `finds` returns whether a command exists.
    pub fn resolve_all(
        &self,
        extensions: &[Extension],
        here: &Machine,
        finds: impl Fn(&str) -> bool,
    ) -> Resolved {
        let mut resolved = Resolved::default();
        for extension in extensions {
            let name = ServerName::new(extension.name.as_str());
            // A file can use an extension, but not confirm what reaches beyond it.
            match self.resolve(&extension.name, name, &extension.settings, Confirmed::No, here, &finds) {
                Ok(server) => {
                    resolved.servers.push(ServerConfig { permission: extension.permission, ..server });
                }
                Err(error) => resolved.problems.push(Problem {
                    server: Some(extension.name.clone()),
                    message: error.to_string(),
                    location: extension.location,
                }),
            }
        }
        resolved
    }
}
