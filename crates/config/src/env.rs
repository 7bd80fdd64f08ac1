//! What servers inherit of our environment, and where they find their programs.

pub(crate) mod powerful;

use std::{
    collections::BTreeMap,
    env::{join_paths, split_paths},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::{InheritEnv, ServerConfig, ServerEndpoint, glob};

/// Names that servers may inherit; `*` stands for any characters.
const INHERITED: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "*_PROXY",
    "*_proxy",
    "SSL_CERT_*",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_registry",
    "PIP_INDEX_URL",
    "UV_*",
];

/// What is ours alone, tokens among it; not even `inherit_env = "all"` hands it on.
const OURS: &str = "TOOLBAY_*";

/// The part of `variables` that servers inherit: enough to find programs, mirrors and proxies, none of our secrets.
pub fn inherited(variables: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    variables.into_iter().filter(|(name, _)| InheritEnv::Usual.passes(name)).collect()
}

/// The whole environment of a server that we run: what it inherits of `ours`, and over that what its entry declares.
pub fn server_environment(
    ours: &BTreeMap<OsString, OsString>,
    server: &ServerConfig,
) -> BTreeMap<OsString, OsString> {
    let ServerEndpoint::Command(command) = &server.endpoint else { return BTreeMap::new() };
    let inherited = ours.iter().filter(|(name, _)| server.tuning.inherit_env.passes(name));
    let mut environment: BTreeMap<OsString, OsString> =
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    environment.extend(command.env.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// A variable that a server gets; its value may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentName {
    /// The variable.
    pub name: String,
    /// Whether the entry declares it; else it is inherited.
    pub declared: bool,
}

/// Which variables a server that we run gets, by name.
pub fn environment_names(ours: &BTreeMap<OsString, OsString>, server: &ServerConfig) -> Vec<EnvironmentName> {
    let ServerEndpoint::Command(command) = &server.endpoint else { return Vec::new() };
    let names = server_environment(ours, server).into_keys().map(|name| name.to_string_lossy().into_owned());
    names.map(|name| EnvironmentName { declared: command.env.contains_key(&name), name }).collect()
}

impl InheritEnv {
    /// Whether a variable of this name is inherited.
    fn passes(&self, name: &OsStr) -> bool {
        let usual = |name: &str| INHERITED.iter().any(|pattern| glob::matches(pattern, name));
        match (self, name.to_str()) {
            (Self::None, _) => false,
            (Self::All, name) => name.is_none_or(|name| !glob::matches(OURS, name)),
            (Self::Usual, name) => name.is_some_and(usual),
            (Self::Also(patterns), name) => name.is_some_and(|name| {
                usual(name) || patterns.iter().any(|pattern| glob::matches(pattern, name))
            }),
        }
    }
}

/// The shell to ask for the `PATH` that people have in their terminal, if we do not seem to have it.
///
/// A desktop starts programs with the bare `PATH` of the system, without what people add in the files of their shell; servers
/// that run in a terminal are not found then. Who was started in a terminal has `TERM`.
pub fn shell_to_ask(ours: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let get = |name: &str| ours.get(OsStr::new(name)).filter(|value| !value.is_empty());
    if get("TERM").is_some_and(|term| term != "dumb") {
        return None;
    }
    let shell = PathBuf::from(get("SHELL")?);
    let logs_nobody_in = ["nologin", "false", "true"].iter().any(|name| shell.ends_with(name));
    (shell.is_absolute() && !logs_nobody_in).then_some(shell)
}

/// The `PATH` of the login shell, in the order that people have in their terminal, and then what only we have.
///
/// Relative folders of the shell's are left out: what they mean depends on where a server runs.
pub fn complete_path(ours: &OsStr, login: &OsStr) -> OsString {
    let mut folders: Vec<PathBuf> = Vec::new();
    let of_login = split_paths(login).filter(|folder| folder.is_absolute());
    for folder in of_login.chain(split_paths(ours)) {
        if folder != Path::new("") && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // What was split can be joined.
    join_paths(folders).unwrap_or_else(|_| ours.to_owned())
}
