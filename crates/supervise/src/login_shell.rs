//! Asking the user's shell for the `PATH` that it sets up.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::Duration,
};

use memchr::memmem;
use tokio::{io::AsyncReadExt, time::timeout};
use tokio_util::task::TaskTracker;

use crate::{
    error::SpawnError,
    launch::{Launch, StderrPolicy, StopGrace},
    process::ChildStdout,
    shim::Shim,
    spawn::spawn,
};

/// Shells that take longer load something that waits.
const PATIENCE: Duration = Duration::from_secs(3);
/// What shells may say besides, in bytes.
const MOST_OUTPUT: u64 = 256 * 1024;
/// Stands around the answer, because files of shells print what they like.
const MARK: &str = "__toolbay_path__";
/// `printenv` because shells write their own `PATH` in different ways: some have a list.
const SCRIPT: &str = "printf %s __toolbay_path__; printenv PATH; printf %s __toolbay_path__";

/// Why the shell did not say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginPathError {
    /// It cannot be started.
    #[error("cannot ask the login shell for PATH")]
    Start(#[source] SpawnError),
    /// It takes too long.
    #[error("the login shell did not tell its PATH within {} s; look for what waits in its start-up files", PATIENCE.as_secs())]
    Slow,
    /// It ended, or said too much, without the answer.
    #[error("the login shell did not tell its PATH")]
    Silent,
}

/// The `PATH` that people have in their terminal: that of an interactive login shell, which reads all the files that
/// they may have put it into. It gets `env` and an empty stdin, at most 3 s, and nothing that it starts survives.
///
/// # Errors
///
/// When the shell cannot be run, or does not answer in time.
pub async fn login_path(
    shell: &Path,
    env: BTreeMap<OsString, OsString>,
    shim: &Shim,
    tasks: &TaskTracker,
) -> Result<OsString, LoginPathError> {
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
    let process = spawn(&launch, shim, StopGrace::default(), tasks).map_err(LoginPathError::Start)?;
    drop(process.stdin);
    let answer = timeout(PATIENCE, read(process.stdout)).await;
    // With the answer, or without patience, the rest of the shell is of no use.
    process.handle.kill();
    process.handle.exited().await;
    let path = answer.map_err(|_| LoginPathError::Slow)?;
    path.filter(|path| !path.is_empty()).ok_or(LoginPathError::Silent)
}

/// Reads until the answer is whole: a daemon that the shell started may hold the pipe open.
async fn read(stdout: ChildStdout) -> Option<OsString> {
    let mut stdout = stdout.take(MOST_OUTPUT);
    let mut said = Vec::new();
    while stdout.read_buf(&mut said).await.ok()? > 0 {
        if let Some(path) = answer(&said) {
            return Some(OsString::from_vec(path.to_vec()));
        }
    }
    None
}

fn answer(said: &[u8]) -> Option<&[u8]> {
    let after = &said[memmem::find(said, MARK.as_bytes())? + MARK.len()..];
    Some(after[..memmem::find(after, MARK.as_bytes())?].trim_ascii())
}
