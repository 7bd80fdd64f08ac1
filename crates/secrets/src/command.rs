//! Secrets that a command prints, such as that of a password manager.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{io::AsyncReadExt, time::timeout};
use tokio_util::task::TaskTracker;
use toolbay_protocol::SecretName;
use toolbay_supervise::{ChildStdout, Launch, Process, Shim, StderrPolicy, StopGrace, spawn};
use zeroize::Zeroizing;

use crate::{
    error::SecretsError,
    secret::{InvalidSecret, Secret},
};

/// Password managers that take longer wait for the user.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A command that prints a secret.
///
/// It is one program with its arguments, never a line for a shell. Its stdin is empty and its stderr is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretCommand {
    pub program: OsString,
    pub args: Vec<OsString>,
}

/// What commands are run with.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// The whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The working directory: not that of a project, whose files must not decide what is run.
    pub directory: PathBuf,
    pub shim: Shim,
    /// Where the tasks that watch a command run.
    pub tasks: TaskTracker,
}

impl SecretCommand {
    /// Runs the command, for at most 10 s, and returns what it prints without the line break at the end.
    ///
    /// # Errors
    /// If it cannot be started, fails, takes too long, or prints no text of at most 64 KiB. No error contains what it printed.
    pub async fn run(&self, name: &SecretName, context: &CommandContext) -> Result<Secret, SecretsError> {
        let program = self.program_name();
        let launch = Launch {
            name: format!("secret {name}"),
            command: self.program.clone(),
            args: self.args.clone(),
            env: context.environment.clone(),
            cwd: Some(context.directory.clone()),
            stderr: StderrPolicy::Null,
        };
        let process =
            spawn(&launch, &context.shim, StopGrace::default(), &context.tasks).map_err(|source| {
                SecretsError::CommandStart {
                    name: name.clone(),
                    program: program.clone(),
                    source: Box::new(source),
                }
            })?;
        let Process { stdin, stdout, handle, .. } = process;
        drop(stdin);
        let output = timeout(TIMEOUT, async {
            let output = read(stdout).await;
            // One that prints too much never ends by itself, because nothing reads it any more.
            if output.is_err() {
                handle.kill();
            }
            (output, handle.exited().await)
        })
        .await;
        let Ok((output, exit)) = output else {
            handle.kill();
            handle.exited().await;
            return Err(SecretsError::CommandTimeout { name: name.clone(), program, waited: TIMEOUT });
        };
        let unusable =
            |source| SecretsError::CommandOutput { name: name.clone(), program: program.clone(), source };
        let output = output.map_err(unusable)?;
        if exit.code != Some(0) {
            return Err(SecretsError::CommandFailed { name: name.clone(), program, exit });
        }
        Secret::from_bytes(without_line_break(output)).map_err(unusable)
    }

    /// The program without its directory and arguments, which may name what is secret.
    fn program_name(&self) -> String {
        let name = Path::new(&self.program).file_name().unwrap_or(OsStr::new(""));
        name.to_string_lossy().into_owned()
    }
}

async fn read(stdout: ChildStdout) -> Result<Zeroizing<Vec<u8>>, InvalidSecret> {
    // One more for each byte of a line break, and one to notice what is too long.
    const MAX_OUTPUT: usize = Secret::MAX_LENGTH + 3;
    let mut output = Zeroizing::new(Vec::with_capacity(MAX_OUTPUT));
    let mut stdout = stdout.take(MAX_OUTPUT as u64);
    // Never more than there is room for, so the buffer does not move and leave a copy behind.
    while output.len() < MAX_OUTPUT
        && stdout.read_buf(&mut *output).await.map_err(|_| InvalidSecret::NotText)? > 0
    {}
    if output.len() == MAX_OUTPUT { Err(InvalidSecret::TooLong) } else { Ok(output) }
}

fn without_line_break(mut output: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    let kept = output.strip_suffix(b"\n").unwrap_or(&output);
    let kept = kept.strip_suffix(b"\r").filter(|_| kept.len() < output.len()).unwrap_or(kept).len();
    output.truncate(kept);
    output
}
