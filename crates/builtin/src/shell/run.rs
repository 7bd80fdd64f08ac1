//! Running one program to its end.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use tokio_util::task::TaskTracker;
use toolbay_sandbox::{HELPER_FAILED, Helper, Level, Policy};
use toolbay_server::ToolError;
use toolbay_supervise::{ChildStdin, ChildStdout, Launch, Process, Shim, StderrPolicy, StopGrace, spawn};

use super::{
    ShellConfig,
    output::{Captured, Shown},
};

/// How long a program that has ended may leave its output open, for programs that it started and that still run.
const DRAIN: Duration = Duration::from_millis(500);

/// A program to run.
pub(super) struct Program {
    pub(super) argv: Vec<String>,
    pub(super) directory: PathBuf,
    pub(super) stdin: String,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) timeout: Duration,
    pub(super) max_output: usize,
}

/// A program that has run.
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    pub(super) duration: Duration,
    pub(super) stdout: Shown,
    pub(super) stderr: Shown,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Exited(i32),
    Killed(i32),
    TimedOut,
}

/// Runs a program. Dropping the future ends it, with everything that it started.
///
/// # Errors
/// If it cannot be started.
pub(super) async fn run(
    config: &ShellConfig,
    tasks: &TaskTracker,
    program: Program,
) -> Result<Finished, ToolError> {
    let begun = Instant::now();
    let launch = launch(config, &program)?;
    let grace = StopGrace { after_stdin: Duration::ZERO, after_term: Duration::ZERO };
    let started =
        spawn(&launch, &Shim::none(), grace, tasks).map_err(|error| ToolError::failed(error.to_string()))?;
    let Process { stdin, stdout, stderr, handle } = started;
    let mut out = Captured::new(program.max_output, config.results.clone());
    let mut err = Captured::new(program.max_output, config.results.clone());
    let talk = async {
        tokio::join!(
            feed(stdin, program.stdin.as_bytes()),
            capture(Some(stdout), &mut out),
            capture(stderr, &mut err)
        );
    };
    let ended = async {
        tokio::pin!(talk);
        tokio::select! {
            // Both ends are closed: the program has ended or is about to.
            () = &mut talk => handle.exited().await,
            exit = handle.exited() => {
                let _ = timeout(DRAIN, talk).await;
                exit
            }
        }
    };
    let exit = timeout(program.timeout, ended).await;
    handle.kill();
    let outcome = match exit {
        Err(_) => {
            handle.exited().await;
            Outcome::TimedOut
        }
        Ok(exit) => match (exit.code, exit.signal) {
            (Some(code), _) => Outcome::Exited(code),
            (None, Some(signal)) => Outcome::Killed(signal),
            (None, None) => return Err(ToolError::failed(exit.to_string())),
        },
    };
    let (stdout, stderr) = (out.finish(), err.finish());
    if config.level != Level::None && outcome == Outcome::Exited(HELPER_FAILED.into()) {
        return Err(ToolError::failed(stderr.text));
    }
    Ok(Finished { outcome, duration: begun.elapsed(), stdout, stderr })
}

/// The helper that runs a program in a sandbox, or the program itself where none is wanted.
fn launch(config: &ShellConfig, program: &Program) -> Result<Launch, ToolError> {
    let mut environment = config.environment.clone();
    environment.extend(program.environment.iter().map(|(name, value)| (name.into(), value.into())));
    let argv: Vec<OsString> = program.argv.iter().map(OsString::from).collect();
    let (command, args) = match (config.level, argv.split_first()) {
        (_, None) => return Err(ToolError::argument("argv", "is empty")),
        (Level::None, Some((command, args))) => (command.clone(), args.to_vec()),
        (level, Some(_)) => {
            let mut write = config.write.clone();
            write.push(config.directory.clone());
            let policy = Policy {
                level,
                read: config.read.clone(),
                write,
                protect: Vec::new(),
                network: config.network,
                limits: config.limits,
            };
            let arguments = Helper::arguments(&policy, argv.iter().map(OsString::as_os_str));
            let arguments = arguments.map_err(|error| ToolError::failed(error.to_string()))?;
            (config.helper.path().as_os_str().to_owned(), arguments)
        }
    };
    Ok(Launch {
        name: program.argv.first().cloned().unwrap_or_default(),
        command,
        args,
        env: environment,
        cwd: Some(program.directory.clone()),
        stderr: StderrPolicy::Pipe,
    })
}

async fn feed(mut stdin: ChildStdin, text: &[u8]) {
    // A program that reads no further, or has ended, is no failure.
    let _ = stdin.write_all(text).await;
}

async fn capture(pipe: Option<ChildStdout>, captured: &mut Captured) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        captured.push(&buffer[..length]);
    }
}
