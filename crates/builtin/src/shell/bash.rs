//! The tool `bash`: commands for a shell that stays, with its directory, variables and background jobs.
//!
//! The shell reads commands from a pipe. Each is quoted, so that one with an error in its syntax cannot take in what follows it;
//! a line that no output can guess ends its output and names its exit code.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};
use toolbay_sandbox::{Level, setup_failure};
use toolbay_server::{Tool, ToolContext, ToolError, ToolOutput, ToolResult};
use toolbay_supervise::{Process, ProcessHandle};

use super::{
    ANNOTATIONS, DEFAULT_TIMEOUT, Shell,
    output::Captured,
    run::{Outcome, report},
    sandbox::Program,
    with_level, with_link,
};

/// How much of an output is shown: its end.
const MAX_OUTPUT: usize = 100 * 1024;
/// How much of what the sandbox itself reports.
const MAX_NOTES: usize = 4 * 1024;

pub(super) fn tool() -> Tool<Shell> {
    Tool::new("bash", bash)
        .title("Run commands in bash")
        .description(
            "Run a command in a bash that stays between calls, in a sandbox: it can read the project and the system, change only \
             the project, and has no network unless that is configured. `restart` starts it anew.",
        )
        .output::<Ran>()
        .annotations(ANNOTATIONS)
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The command
    command: Option<String>,
    /// Start bash anew; the command is ignored
    #[serde(default)]
    restart: bool,
    /// Milliseconds after which the command is ended, with bash (default: 120000)
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
}

/// What a command has done.
#[derive(Serialize, JsonSchema)]
struct Ran {
    /// The end of its output, standard output and standard error together
    output: String,
    /// Bytes of its output
    output_bytes: u64,
    /// Its exit code; none if it did not end in time
    exit_code: Option<i32>,
    /// Whether bash goes on, with its directory, variables and jobs
    running: bool,
}

/// The shell of a connection. One command runs at a time.
#[derive(Debug, Default)]
pub(super) struct Bash {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Grows with each restart. What was begun before no longer counts.
    generation: u64,
    shell: ShellState,
}

#[derive(Debug, Default)]
enum ShellState {
    #[default]
    Ended,
    Idle(BashProcess),
    /// With the process, once it is started.
    Busy(Option<ProcessHandle>),
}

#[derive(Debug)]
struct BashProcess {
    process: Process,
    level: Level,
    /// Ends each output.
    marker: String,
}

impl Bash {
    /// Takes the shell, if there is one, for a command.
    fn take(&self) -> Result<(Turn, Option<BashProcess>), ToolError> {
        let mut state = self.state.lock();
        let running = match std::mem::replace(&mut state.shell, ShellState::Busy(None)) {
            ShellState::Busy(process) => {
                state.shell = ShellState::Busy(process);
                let reason = "bash is busy with another command; wait for its result, or restart it";
                return Err(ToolError::failed(reason));
            }
            ShellState::Idle(running) => Some(running),
            ShellState::Ended => None,
        };
        Ok((Turn { state: self.state.clone(), generation: state.generation }, running))
    }

    /// Ends the shell, also while a command runs: that one fails.
    fn restart(&self) {
        let mut state = self.state.lock();
        state.generation += 1;
        if let ShellState::Busy(Some(process)) = std::mem::take(&mut state.shell) {
            process.kill();
        }
    }
}

/// The right to use the shell. A call that is canceled ends the shell, which is in the middle of something.
struct Turn {
    state: Arc<Mutex<State>>,
    generation: u64,
}

impl Turn {
    /// Sets what the shell is now. Returns whether it counts.
    fn set(&self, shell: ShellState) -> bool {
        let mut state = self.state.lock();
        let counts = state.generation == self.generation;
        if counts {
            state.shell = shell;
        }
        counts
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.generation == self.generation && matches!(state.shell, ShellState::Busy(_)) {
            state.shell = ShellState::Ended;
        }
    }
}

async fn bash(shell: Arc<Shell>, arguments: Arguments, context: ToolContext) -> ToolResult {
    if arguments.restart {
        shell.bash.restart();
        return Ok(ToolOutput::text("tool has been restarted.").with_structured(&Ran {
            output: "tool has been restarted.".to_owned(),
            output_bytes: 0,
            exit_code: Some(0),
            running: false,
        }));
    }
    let Some(command) = arguments.command else {
        return Err(ToolError::argument("command", "is missing; or set `restart`"));
    };
    if command.contains('\0') {
        return Err(ToolError::argument("command", "contains a NUL character"));
    }
    let (turn, running) = shell.bash.take()?;
    let mut running = match running.filter(|running| running.process.handle.try_exit().is_none()) {
        Some(running) => running,
        None => start(&shell).await?,
    };
    let handle = running.process.handle.clone();
    if !turn.set(ShellState::Busy(Some(handle.clone()))) {
        return Err(ToolError::failed("bash was restarted"));
    }
    let begun = Instant::now();
    let limit = arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
    let mut output = Captured::tail(MAX_OUTPUT, shell.config().results.clone());
    let mut notes = Captured::new(MAX_NOTES, None);
    let mut search = MarkerSearch::new(&running.marker);
    let done = tokio::select! {
        done = timeout(limit, running.run(&command, &mut search, &mut output, &mut notes)) => done,
        never = report(&context, begun) => match never {},
    };
    search.finish(&mut output);
    let level = running.level;
    let (outcome, is_running) = match done {
        Ok(Some(code)) => (Outcome::Exited(code), turn.set(ShellState::Idle(running))),
        // Its output is closed.
        Ok(None) => (Outcome::of(&handle.exited().await)?, false),
        Err(_) => {
            handle.kill();
            handle.exited().await;
            (Outcome::TimedOut, false)
        }
    };
    drop(turn);
    finish(outcome, is_running, level, output, notes, begun.elapsed())
}

fn finish(
    outcome: Outcome,
    running: bool,
    level: Level,
    output: Captured,
    notes: Captured,
    duration: Duration,
) -> ToolResult {
    let (shown, notes) = (output.finish(), notes.finish().text);
    let exit_code = match outcome {
        Outcome::Exited(code) => Some(code),
        Outcome::Killed(signal) => Some(128 + signal),
        Outcome::TimedOut => None,
    };
    if let Some(reason) = exit_code.and_then(|code| setup_failure(code, &notes)) {
        return Err(ToolError::failed(format!("nothing was run: cannot build the sandbox: {reason}")));
    }
    let mut text = shown.text.clone();
    let mut add = |line: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
    };
    if !notes.is_empty() {
        add(&notes);
    }
    match (outcome, running) {
        (Outcome::TimedOut, _) => add(&format!(
            "[ended after {:.1} s, because its time was up; the next command starts a new bash]",
            duration.as_secs_f32()
        )),
        (_, false) => {
            add(&format!(
                "[bash has ended with exit code {}; the next command starts a new one]",
                exit_code.unwrap_or(1)
            ));
        }
        (Outcome::Exited(0), true) => {}
        (Outcome::Exited(code) | Outcome::Killed(code), true) => add(&format!("[exit code {code}]")),
    }
    let ran = Ran { output: shown.text.clone(), output_bytes: shown.total, exit_code, running };
    let output = with_link(ToolOutput::text(text).with_structured(&ran), "output", &shown);
    let output = with_level(output, level);
    Ok(if exit_code == Some(0) { output } else { output.as_error() })
}

async fn start(shell: &Shell) -> Result<BashProcess, ToolError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| ToolError::failed("the system has no random numbers"))?;
    let program = Program {
        argv: ["/bin/bash", "--noprofile", "--norc"].map(str::to_owned).into(),
        directory: shell.directory("command", None)?,
        environment: BTreeMap::new(),
    };
    let (process, level) = shell.launcher.start(program).await?;
    Ok(BashProcess { process, level, marker: format!("{:032x}", u128::from_ne_bytes(random)) })
}

impl BashProcess {
    /// Runs a command. Returns its exit code, or `None` if the shell has ended.
    async fn run(
        &mut self,
        command: &str,
        search: &mut MarkerSearch,
        output: &mut Captured,
        notes: &mut Captured,
    ) -> Option<i32> {
        let Process { stdin, stdout, stderr, .. } = &mut self.process;
        let (left, right) = self.marker.split_at(16);
        let quoted = command.replace('\'', r"'\''");
        // The marker is in two pieces, so that `set -v` does not print it.
        let script =
            format!("exec 2>&1\neval '{quoted}' </dev/null\nprintf '\\n%s%s %d\\n' {left} {right} $?\n");
        let read = async {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(length @ 1..) = stdout.read(&mut buffer).await {
                if let Some(code) = search.push(&buffer[..length], output) {
                    return Some(code);
                }
            }
            None
        };
        let write = async {
            // A shell that has ended is noticed by its output.
            let _ = stdin.write_all(script.as_bytes()).await;
            std::future::pending::<()>().await;
        };
        let note = async {
            let mut buffer = [0; 1024];
            while let Some(stderr) = stderr
                && let Ok(length @ 1..) = stderr.read(&mut buffer).await
            {
                notes.push(&buffer[..length]);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // What the sandbox reports comes before the end.
            biased;
            () = note => None,
            () = write => None,
            code = read => code,
        }
    }
}

/// Looks for the line that ends an output, in whatever pieces it comes.
struct MarkerSearch {
    marker: Vec<u8>,
    /// What may be the beginning of the line.
    pending: Vec<u8>,
}

impl MarkerSearch {
    /// Digits of an exit code, and the end of the line.
    const CODE: usize = 4;

    fn new(marker: &str) -> Self {
        Self { marker: format!("\n{marker} ").into_bytes(), pending: Vec::new() }
    }

    /// Takes more output. Returns the exit code once the line has come.
    fn push(&mut self, bytes: &[u8], output: &mut Captured) -> Option<i32> {
        self.pending.extend_from_slice(bytes);
        if let Some(start) = memchr::memmem::find(&self.pending, &self.marker) {
            let code = &self.pending[start + self.marker.len()..];
            let end = memchr::memchr(b'\n', code)?;
            let code = std::str::from_utf8(&code[..end]).ok()?.parse().ok()?;
            output.push(&self.pending[..start]);
            self.pending.clear();
            return Some(code);
        }
        let certain = self.pending.len().saturating_sub(self.marker.len() + Self::CODE);
        output.push(&self.pending[..certain]);
        self.pending.drain(..certain);
        None
    }

    /// What is left is output, too: no line will come.
    fn finish(self, output: &mut Captured) {
        output.push(&self.pending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_found_in_any_pieces() {
        let all = b"out\nput\nMARK 12\n";
        for size in 1..=all.len() {
            let mut output = Captured::tail(100, None);
            let mut search = MarkerSearch::new("MARK");
            let code = all.chunks(size).find_map(|piece| search.push(piece, &mut output));
            search.finish(&mut output);
            assert_eq!((code, output.finish().text.as_str()), (Some(12), "out\nput"), "{size}");
        }
    }
}
