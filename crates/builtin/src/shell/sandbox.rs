//! Starting programs in their sandbox.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use toolbay_files::{Protection, is_protected};
use toolbay_sandbox::{Helper, Level, Network, Policy, Probe, probe};
use toolbay_server::ToolError;
use toolbay_supervise::{Launch, Process, Shim, StderrPolicy, StopGrace, spawn};

use super::ShellConfig;

/// A program to start.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) argv: Vec<String>,
    pub(super) directory: PathBuf,
    /// Variables that it gets besides the usual ones.
    pub(super) environment: BTreeMap<String, String>,
}

/// Starts programs, all of them in the same kind of sandbox.
#[derive(Debug)]
pub(super) struct Launcher {
    config: Arc<ShellConfig>,
    tasks: TaskTracker,
    /// The best sandbox of this system, found out when the first program is started.
    probe: OnceCell<Probe>,
}

impl Launcher {
    pub(super) fn new(config: Arc<ShellConfig>, tasks: TaskTracker) -> Self {
        Self { config, tasks, probe: OnceCell::new() }
    }

    pub(super) fn config(&self) -> &ShellConfig {
        &self.config
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// The sandbox that programs get.
    ///
    /// # Errors
    /// If the system has none that is good enough.
    pub(super) async fn level(&self) -> Result<Level, ToolError> {
        let least = self.config.sandbox;
        if least == Level::None {
            return Ok(Level::None);
        }
        let helper = self.config.helper.clone();
        let find = || async {
            let found = tokio::task::spawn_blocking(move || probe(&helper)).await;
            found.map_err(|_| ToolError::failed("the sandbox cannot be tested"))
        };
        let probe = self.probe.get_or_try_init(find).await?;
        if probe.level >= least {
            return Ok(probe.level);
        }
        let reason = probe.reason.as_deref().unwrap_or("not supported");
        let hint = match probe.level {
            Level::Partial => "Set `sandbox = \"partial\"` to run with less protection",
            _ => "Set `sandbox = \"none\"` to run without one",
        };
        Err(ToolError::failed(format!(
            "nothing was run: this system has no {least} sandbox ({reason}). {hint}, or run `toolbay doctor` to see what is missing."
        )))
    }

    /// Starts a program. Dropping the handle of the process ends it, with everything that it started.
    ///
    /// # Errors
    /// If it cannot be started. A program that does not exist is only found out in the sandbox.
    pub(super) async fn start(&self, program: Program) -> Result<(Process, Level), ToolError> {
        let level = self.level().await?;
        let config = self.config.clone();
        let launch = tokio::task::spawn_blocking(move || launch(&config, level, program)).await;
        let launch = launch.map_err(|_| ToolError::failed("the program cannot be started"))??;
        let grace = StopGrace { after_stdin: Duration::ZERO, after_term: Duration::ZERO };
        // At the full level the kernel ends everything with the helper.
        let none = Shim::none();
        let shim = if level == Level::Full { &none } else { &self.config.shim };
        let process =
            spawn(&launch, shim, grace, &self.tasks).map_err(|error| ToolError::failed(error.to_string()))?;
        Ok((process, level))
    }
}

/// The helper that runs a program in a sandbox, or the program itself where none is wanted.
fn launch(config: &ShellConfig, level: Level, program: Program) -> Result<Launch, ToolError> {
    let name = program.argv.first().cloned().unwrap_or_default();
    let mut environment: BTreeMap<OsString, OsString> =
        config.environment.iter().filter_map(|variable| harmless(variable, config.network)).collect();
    environment.extend(program.environment.iter().map(|(name, value)| (name.into(), value.into())));
    if program.argv.iter().any(|argument| argument.contains('\0'))
        || environment.iter().any(|(name, value)| is_invalid(name, value))
    {
        return Err(ToolError::failed("arguments and variables must not contain NUL, and names no `=`"));
    }
    let argv: Vec<OsString> = program.argv.into_iter().map(OsString::from).collect();
    let (command, args, env) = match (level, argv.split_first()) {
        (_, None) => return Err(ToolError::argument("argv", "is empty")),
        (Level::None, Some((command, args))) => (command.clone(), args.to_vec(), environment),
        (level, Some(_)) => {
            let arguments = Helper::arguments(&policy(config, level), argv.iter().map(OsString::as_os_str));
            let arguments = arguments.map_err(|error| ToolError::failed(error.to_string()))?;
            (config.helper.path().as_os_str().to_owned(), arguments, Helper::environment(environment))
        }
    };
    Ok(Launch { name, command, args, env, cwd: Some(program.directory), stderr: StderrPolicy::Pipe })
}

fn is_invalid(name: &OsStr, value: &OsStr) -> bool {
    let (name, value) = (name.as_encoded_bytes(), value.as_encoded_bytes());
    name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.contains(&0)
}

/// A variable of ours that programs get: none that may hold a secret, or lead to a socket.
fn harmless((name, value): (&OsString, &OsString), network: Network) -> Option<(OsString, OsString)> {
    const NAMES: [&str; 12] = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "TZ",
        "SOURCE_DATE_EPOCH",
    ];
    let text = name.to_str()?;
    let is_usual = NAMES.contains(&text) || text.starts_with("LC_");
    // The password of a proxy is part of its address.
    let is_for_network = text.to_ascii_lowercase().ends_with("_proxy")
        && !value.as_encoded_bytes().contains(&b'@')
        || text.starts_with("SSL_CERT_");
    (is_usual || is_for_network && network == Network::Allow).then(|| (name.clone(), value.clone()))
}

fn policy(config: &ShellConfig, level: Level) -> Policy {
    // Paths are resolved for each program: what they lead to can change.
    let resolve =
        |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>();
    let mut write = resolve(&config.write);
    write.extend(config.directory.canonicalize());
    let protect = match config.protection {
        Protection::Protect => write.iter().flat_map(|directory| protected(directory)).collect(),
        Protection::Allow => Vec::new(),
    };
    Policy {
        level,
        read: resolve(&config.read),
        protect,
        write,
        hide: resolve(&config.hide),
        home: config.home.clone(),
        network: config.network,
        limits: config.limits,
        function: None,
    }
}

/// The files at the top of a directory that configure programs.
fn protected(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.file_name())
        .filter(|name| is_protected(Path::new(name)))
        .map(|name| directory.join(name))
        .collect();
    let cargo = ["config", "config.toml"].map(|name| directory.join(".cargo").join(name));
    found.extend(cargo.into_iter().filter(|path| path.is_file()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_with_secrets_stay_outside() {
        let passed =
            |name: &str, value: &str, network| harmless((&name.into(), &value.into()), network).is_some();
        for name in ["PATH", "HOME", "LC_ALL", "TZ"] {
            assert!(passed(name, "x", Network::None), "{name}");
        }
        for name in
            ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "UV_INDEX_URL"]
        {
            assert!(!passed(name, "x", Network::Allow), "{name}");
        }
        assert!(!passed("HTTPS_PROXY", "http://proxy", Network::None));
        assert!(passed("HTTPS_PROXY", "http://proxy", Network::Allow));
        assert!(!passed("https_proxy", "http://me:secret@proxy", Network::Allow));
    }

    #[test]
    fn what_configures_programs_at_the_top_is_protected() {
        let directory = tempfile::tempdir().unwrap();
        for name in [".git", ".cargo", "src"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        for name in [".mcp.json", ".cargo/config.toml", "src/main.rs"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("src", directory.path().join(".vscode")).unwrap();
        let mut found = protected(directory.path());
        found.sort();
        assert_eq!(
            found,
            [".cargo/config.toml", ".git", ".mcp.json"].map(|name| directory.path().join(name))
        );
    }
}
