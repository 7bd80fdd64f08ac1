//! What servers inherit of our environment, and where they find their programs.

use std::{
    collections::BTreeMap,
    env::{join_paths, split_paths},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::{InheritEnv, ServerConfig, ServerEndpoint, glob};

/// Names of variables that servers inherit; `*` matches any characters.
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

/// The environment of a server that we run: the variables that it inherits from `ours`, overridden by those of its entry.
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

/// The login shell to run for the `PATH` of the user's terminal, if our own seems to be another one.
///
/// A desktop starts programs with the bare `PATH` of the system, without the additions in the start-up files of the shell; servers
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

/// The `PATH` of the login shell in its order, followed by the folders of our own `PATH` that it lacks.
///
/// Relative folders of the shell are left out: their meaning depends on the directory of a server.
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

/// Names of variables that change which code a program loads or starts, which certificates it trusts or where it connects; `*` matches
/// any ending or beginning. No such list is complete: an approval binds every variable; those listed here are shown first and may not come
/// from a file that was not shown.
const POWERFUL: [&str; 84] = [
    "*_PROXY",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "BASH_ENV",
    "BROWSER",
    "BUNDLE_*",
    "BUN_*",
    "CARGO_*",
    "CLASSPATH",
    "CONTAINERS_*",
    "CONTAINER_HOST",
    "CORECLR_*",
    "COREPACK_*",
    "CURL_CA_BUNDLE",
    "CURL_HOME",
    "DENO_*",
    "DOCKER_*",
    "DOTNET_*",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GEM_*",
    "GIT_ASKPASS",
    "GIT_CONFIG*",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH*",
    "GIT_SSL_*",
    "GIT_TEMPLATE_DIR",
    "GOBIN",
    "GOENV",
    "GOFLAGS",
    "GOINSECURE",
    "GONOSUMDB",
    "GOPATH",
    "GOPROXY",
    "GOROOT",
    "GOSUMDB",
    "GOTOOL*",
    "HOME",
    "IFS",
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KUBECONFIG",
    "LD_*",
    "LESSCLOSE",
    "LESSOPEN",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "NPM_CONFIG_*",
    "OPENSSL_*",
    "PAGER",
    "PATH",
    "PERL5*",
    "PERLLIB",
    "PIPX_*",
    "PIP_*",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHON*",
    "REQUESTS_CA_BUNDLE",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC*",
    "RUSTUP_*",
    "SHELLOPTS",
    "SSH_ASKPASS*",
    "SSL_CERT_*",
    "TMPDIR",
    "UV_*",
    "VISUAL",
    "XDG_CONFIG_*",
    "XDG_DATA_*",
    "YARN_*",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "__PYVENV_LAUNCHER__",
];

/// Whether the value of this variable can make a harmless command run, trust or reach something else. Some programs read
/// such names in any case.
pub fn decides_what_runs(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    POWERFUL.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(ending), _) => name.ends_with(ending),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use super::decides_what_runs;

    #[test]
    fn names_are_known_in_any_case() {
        for name in
            ["PATH", "Npm_Config_registry", "https_proxy", "NODE_OPTIONS", "BUN_OPTIONS", "OPENSSL_CONF"]
        {
            assert!(decides_what_runs(name), "{name}");
        }
        for name in ["FOO", "API_TOKEN", "PATHS", "NODE_ENV", "GOOGLE_API_KEY", "MY_PATH"] {
            assert!(!decides_what_runs(name), "{name}");
        }
    }
}
