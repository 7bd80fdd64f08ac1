//! Asking the user's login shell for the environment that it sets up.

mod cached;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::Duration,
};

use memchr::{memchr, memmem};
use tokio::{io::AsyncReadExt, time::timeout};
use tokio_util::task::TaskTracker;

use crate::{
    command::{Launch, StderrPolicy, StopGrace},
    error::SpawnError,
    process::ChildStdout,
    shim::Shim,
    spawn::spawn,
    sweep::MARKER,
};

pub use cached::LoginShell;

/// Shells that take longer load something that waits.
const SHELL_TIMEOUT: Duration = Duration::from_secs(3);
/// What shells may print, in bytes.
const MOST_OUTPUT: u64 = 1024 * 1024;
/// Mark the beginning and the end of the output, because start-up files print what they like. They differ, because some
/// shells export `_`, the last word of the command before: the first mark is then a part of the output.
const START: &str = "__toolbay_env__";
const END: &str = "__toolbay_end__";
/// By its full path: aliases and a broken `PATH` do not matter. `-0`, because values may have line breaks.
const SCRIPT: &str = "printf %s __toolbay_env__; /usr/bin/env -0; printf %s __toolbay_end__";
/// A login shell.
const OF_THE_SHELL: [&str; 5] = ["_", "PWD", "OLDPWD", "SHLVL", MARKER];

/// Why the login shell did not print its environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginShellError {
    /// It cannot be started.
    #[error("cannot start the login shell")]
    Start(#[source] SpawnError),
    /// It takes too long.
    #[error("the login shell did not print its environment within {} s; check its startup files", SHELL_TIMEOUT.as_secs())]
    Slow,
    /// It ended, or printed too much, without the environment.
    #[error("the login shell did not print its environment")]
    Silent,
}

/// The `PATH` that people have in their terminal.
///
/// # Errors
///
/// As [`login_environment`].
pub async fn login_path(
    shell: &Path,
    env: BTreeMap<OsString, OsString>,
    shim: &Shim,
    tasks: &TaskTracker,
) -> Result<OsString, LoginShellError> {
    let mut environment = login_environment(shell, env, shim, tasks).await?;
    let path = environment.remove(OsStr::new("PATH")).filter(|path| !path.is_empty());
    path.ok_or(LoginShellError::Silent)
}

/// The environment that people have in their terminal: that of an interactive login shell, which reads all the files that
/// may set it. The shell gets `env` and an empty stdin, at most 3 s, and nothing that it starts survives.
///
/// # Errors
///
/// When the shell cannot be run, or does not print its environment in time.
pub async fn login_environment(
    shell: &Path,
    env: BTreeMap<OsString, OsString>,
    shim: &Shim,
    tasks: &TaskTracker,
) -> Result<BTreeMap<OsString, OsString>, LoginShellError> {
    // At home: what is in the folder of a project has no say in where programs are found.
    let home = env.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_dir());
    let launch = Launch {
        name: "login shell".to_owned(),
        command: shell.into(),
        args: vec!["-l".into(), "-i".into(), "-c".into(), SCRIPT.into()],
        env,
        cwd: Some(home.unwrap_or_else(|| PathBuf::from("/"))),
        stderr: StderrPolicy::Null,
    };
    let process = spawn(&launch, shim, StopGrace::default(), tasks).map_err(LoginShellError::Start)?;
    drop(process.stdin);
    let marked_output = timeout(SHELL_TIMEOUT, read(process.stdout)).await;
    // With the output or after the timeout, the shell is of no use any more.
    process.handle.kill();
    process.handle.exited().await;
    let environment = marked_output.map_err(|_| LoginShellError::Slow)?;
    environment.filter(|environment| !environment.is_empty()).ok_or(LoginShellError::Silent)
}

/// Reads until the output is complete: a daemon that the shell started may hold the pipe open.
async fn read(stdout: ChildStdout) -> Option<BTreeMap<OsString, OsString>> {
    let mut stdout = stdout.take(MOST_OUTPUT);
    let mut output = Vec::new();
    while stdout.read_buf(&mut output).await.ok()? > 0 {
        if let Some(marked_output) = marked_output(&output) {
            return Some(variables(marked_output));
        }
    }
    None
}

fn marked_output(output: &[u8]) -> Option<&[u8]> {
    let after = &output[memmem::find(output, START.as_bytes())? + START.len()..];
    Some(&after[..memmem::find(after, END.as_bytes())?])
}

/// `NAME=VALUE`, each ended by NUL.
fn variables(marked_output: &[u8]) -> BTreeMap<OsString, OsString> {
    let variable = |entry: &[u8]| {
        let (name, value) = entry.split_at(memchr(b'=', entry)?);
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        (!name.is_empty()).then(|| (text(name), text(&value[1..])))
    };
    let all = marked_output.split(|byte| *byte == 0).filter_map(variable);
    all.filter(|(name, _)| !OF_THE_SHELL.iter().any(|own| name == own)).collect()
}
