//! Running one program to its end.

use std::time::{Duration, Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use toolbay_sandbox::{Level, setup_failure};
use toolbay_server::{ToolContext, ToolError};
use toolbay_supervise::{ChildStdin, ChildStdout, Exit, Process};

use super::{
    output::{Captured, Shown},
    sandbox::{Launcher, Program},
};

/// How long a program that has ended may leave its output open, for programs that it started and that still run.
const DRAIN: Duration = Duration::from_millis(500);
/// How often the client hears that a program still runs.
const PROGRESS: Duration = Duration::from_secs(1);

/// How a program is run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) program: Program,
    pub(super) stdin: String,
    pub(super) timeout: Duration,
    /// Bytes of each output that are shown.
    pub(super) max_output: usize,
}

/// A program that has run.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    pub(super) level: Level,
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

impl Outcome {
    /// From the exit of a process, of which nothing is known if it was lost.
    pub(super) fn of(exit: &Exit) -> Result<Self, ToolError> {
        match (exit.code, exit.signal) {
            (Some(code), _) => Ok(Self::Exited(code)),
            (None, Some(signal)) => Ok(Self::Killed(signal)),
            (None, None) => Err(ToolError::failed(exit.to_string())),
        }
    }
}

/// Runs a program. Dropping the future ends it, with everything that it started.
///
/// # Errors
/// If it cannot be started, or its sandbox cannot be built.
pub(super) async fn run(launcher: &Launcher, run: Run, context: &ToolContext) -> Result<Finished, ToolError> {
    let begun = Instant::now();
    let (Process { stdin, stdout, stderr, handle }, level) = launcher.start(run.program).await?;
    let results = &launcher.config().results;
    let mut out = Captured::new(run.max_output, results.clone());
    let mut err = Captured::new(run.max_output, results.clone());
    let talk = async {
        tokio::join!(
            feed(stdin, run.stdin.as_bytes()),
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
    let exit = tokio::select! {
        exit = timeout(run.timeout, ended) => exit,
        never = report(context, begun) => match never {},
    };
    handle.kill();
    let outcome = match exit {
        Err(_) => {
            handle.exited().await;
            Outcome::TimedOut
        }
        Ok(exit) => Outcome::of(&exit)?,
    };
    let (stdout, stderr) = (out.finish(), err.finish());
    if let Outcome::Exited(code) = outcome
        && level != Level::None
        && let Some(reason) = setup_failure(code, &stderr.text)
    {
        return Err(ToolError::failed(format!("nothing was run: cannot build the sandbox: {reason}")));
    }
    Ok(Finished { outcome, level, duration: begun.elapsed(), stdout, stderr })
}

/// Reports that a program still runs, for as long as this is polled.
pub(super) async fn report(context: &ToolContext, begun: Instant) -> std::convert::Infallible {
    loop {
        tokio::time::sleep(PROGRESS).await;
        let seconds = begun.elapsed().as_secs();
        context.report_progress(seconds, None, &format!("running for {seconds} s"));
    }
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
