//! The tools `exec_command` and `write_stdin`: programs that go on running between calls.

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
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};
use toolbay_results::ResultStore;
use toolbay_sandbox::{Level, setup_failure};
use toolbay_server::{Tool, ToolContext, ToolError, ToolOutput, ToolResult};
use toolbay_supervise::{ChildStdin, ChildStdout, Process, ProcessHandle};

use super::{
    ANNOTATIONS, Shell,
    output::{Captured, Shown},
    run::{Outcome, report},
    sandbox::Program,
    with_level, with_link,
};

/// How many programs may run at once.
const MAX_SESSIONS: usize = 64;
/// How much output of a program is kept until it is asked for: the beginning and the end.
const BUFFER: usize = 1024 * 1024;
/// How long calls wait, in milliseconds.
const EXEC_YIELD: u64 = 10_000;
const WRITE_YIELD: u64 = 250;
const MIN_YIELD: u64 = 250;
const MAX_YIELD: u64 = 30_000;
/// How many tokens of output are shown, unless the caller says.
const MAX_TOKENS: usize = 10_000;
/// How long a program that has ended may leave its output open.
const DRAIN: Duration = Duration::from_millis(500);

pub(super) fn tools() -> [Tool<Shell>; 2] {
    [
        Tool::new("exec_command", exec_command)
            .title("Run a command")
            .description(
                "Run a command in a sandbox: it can read the project and the system, change only the project, and has no network \
                 unless that is configured. Returns its output, and a session_id if it still runs.",
            )
            .output::<Chunk>()
            .annotations(ANNOTATIONS),
        Tool::new("write_stdin", write_stdin)
            .title("Write to a running command")
            .description("Write to the standard input of a running command, or nothing, and return its new output.")
            .output::<Chunk>()
            .annotations(ANNOTATIONS),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct ExecCommand {
    /// The shell command
    cmd: String,
    /// The directory to run in, relative to the project (default: the project)
    workdir: Option<String>,
    /// The shell (default: /bin/bash)
    shell: Option<String>,
    /// Whether it is a login shell (default: false)
    #[serde(default)]
    login: bool,
    /// Run it in a terminal, whose input is open for write_stdin (default: false)
    #[serde(default)]
    tty: bool,
    /// Without a terminal, keep its standard input open for write_stdin (default: false)
    #[serde(default)]
    stdin: bool,
    /// Milliseconds to wait for output or the end, 250 to 30000 (default: 10000)
    yield_time_ms: Option<u64>,
    /// The most tokens of output to show (default: 10000)
    max_output_tokens: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct WriteStdin {
    /// The running command
    session_id: u32,
    /// What to write; nothing to only get its output
    #[serde(default)]
    chars: String,
    /// Milliseconds to wait for output or the end, 250 to 30000 (default: 250)
    yield_time_ms: Option<u64>,
    /// The most tokens of output to show (default: 10000)
    max_output_tokens: Option<usize>,
}

/// What a command has written since the last call.
#[derive(Serialize, JsonSchema)]
struct Chunk {
    /// The output, standard output and standard error together
    output: String,
    /// How long this call took
    wall_time_seconds: f64,
    /// Its exit code, if it has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// For write_stdin, if it still runs
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<u32>,
    /// How long the output was before it was cut
    original_token_count: u64,
}

/// The running programs of a connection. Dropping them ends them.
#[derive(Debug)]
pub(super) struct Sessions {
    running: Mutex<BTreeMap<u32, Arc<CommandSession>>>,
    /// One for each program that may still be started.
    slots: Arc<Semaphore>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { running: Mutex::default(), slots: Arc::new(Semaphore::new(MAX_SESSIONS)) }
    }
}

#[derive(Debug)]
struct CommandSession {
    handle: ProcessHandle,
    level: Level,
    /// Taken by a call that writes.
    stdin: Mutex<Option<ChildStdin>>,
    output: Arc<Mutex<Captured>>,
    /// How many of its outputs are open.
    open: watch::Receiver<usize>,
    _slot: OwnedSemaphorePermit,
}

async fn exec_command(shell: Arc<Shell>, arguments: ExecCommand, context: ToolContext) -> ToolResult {
    let slot = shell.sessions.slot()?;
    let begun = Instant::now();
    let program = Program {
        argv: argv(&arguments),
        directory: shell.directory("workdir", arguments.workdir.as_deref())?,
        environment: BTreeMap::new(),
    };
    let (process, level) = shell.launcher.start(program).await?;
    let session = CommandSession::new(&shell, process, level, slot, arguments.tty || arguments.stdin);
    let wait = wait_time(arguments.yield_time_ms, EXEC_YIELD);
    let outcome = session.wait(wait, &context).await?;
    let id = match outcome {
        None => Some(shell.sessions.insert(session.clone())?),
        Some(_) => None,
    };
    session.chunk(&shell, outcome, id, begun, arguments.max_output_tokens)
}

/// The shell with its command, in a terminal of `script` if one is wanted.
fn argv(arguments: &ExecCommand) -> Vec<String> {
    let shell = arguments.shell.clone().unwrap_or_else(|| "/bin/bash".to_owned());
    let option = if arguments.login { "-lc" } else { "-c" };
    let command = vec![shell, option.to_owned(), arguments.cmd.clone()];
    if !arguments.tty {
        return command;
    }
    let quoted: Vec<String> =
        command.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    ["script", "-qefc", &format!("exec {}", quoted.join(" ")), "/dev/null"].map(str::to_owned).into()
}

async fn write_stdin(shell: Arc<Shell>, arguments: WriteStdin, context: ToolContext) -> ToolResult {
    let id = arguments.session_id;
    let begun = Instant::now();
    let session = shell.sessions.running.lock().get(&id).cloned();
    let session = session.ok_or_else(|| ToolError::argument("session_id", "is no running command"))?;
    if !arguments.chars.is_empty() {
        session.write(&arguments.chars).await?;
    }
    let outcome = session.wait(wait_time(arguments.yield_time_ms, WRITE_YIELD), &context).await?;
    if outcome.is_some() {
        shell.sessions.running.lock().remove(&id);
    }
    session.chunk(&shell, outcome, outcome.is_none().then_some(id), begun, arguments.max_output_tokens)
}

fn wait_time(asked: Option<u64>, usual: u64) -> Duration {
    Duration::from_millis(asked.unwrap_or(usual).clamp(MIN_YIELD, MAX_YIELD))
}

impl Sessions {
    /// The right to run another program. Of those that have ended, the unread output is given up first.
    fn slot(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        if self.slots.available_permits() == 0 {
            self.running.lock().retain(|_, session| session.handle.try_exit().is_none());
        }
        self.slots.clone().try_acquire_owned().map_err(|_| {
            ToolError::failed(format!(
                "{MAX_SESSIONS} commands are running; end one first, such as by writing \"\\u0003\" to its terminal"
            ))
        })
    }

    fn insert(&self, session: Arc<CommandSession>) -> Result<u32, ToolError> {
        let mut running = self.running.lock();
        loop {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes).map_err(|_| ToolError::failed("the system has no random numbers"))?;
            // Some clients read numbers as signed.
            let id = u32::from_ne_bytes(bytes) >> 1;
            if let std::collections::btree_map::Entry::Vacant(free) = running.entry(id) {
                free.insert(session);
                return Ok(id);
            }
        }
    }
}

impl CommandSession {
    fn new(
        shell: &Shell,
        process: Process,
        level: Level,
        slot: OwnedSemaphorePermit,
        is_stdin_open: bool,
    ) -> Arc<Self> {
        let Process { stdin, stdout, stderr, handle } = process;
        let output = Arc::new(Mutex::new(Captured::new(BUFFER, shell.config().results.clone())));
        let pipes: Vec<ChildStdout> = [Some(stdout), stderr].into_iter().flatten().collect();
        let (count, open) = watch::channel(pipes.len());
        let count = Arc::new(count);
        for pipe in pipes {
            shell.launcher.tasks().spawn(read(pipe, output.clone(), count.clone()));
        }
        let stdin = Mutex::new(is_stdin_open.then_some(stdin));
        Arc::new(Self { handle, level, stdin, output, open, _slot: slot })
    }

    async fn write(&self, text: &str) -> Result<(), ToolError> {
        let stdin = self.stdin.lock().take();
        let Some(mut stdin) = stdin else {
            let reason = "its standard input is closed, or another call writes; run it with `tty` or `stdin`";
            return Err(ToolError::failed(reason));
        };
        let written = timeout(Duration::from_secs(5), stdin.write_all(text.as_bytes())).await;
        *self.stdin.lock() = Some(stdin);
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ToolError::failed(format!("cannot write to the command: {error}"))),
            Err(_) => Err(ToolError::failed("the command does not read its input; a part of it was written")),
        }
    }

    /// Waits for the end of the program, but not longer than this.
    async fn wait(&self, wait: Duration, context: &ToolContext) -> Result<Option<Outcome>, ToolError> {
        let ended = tokio::select! {
            ended = timeout(wait, self.handle.exited()) => ended,
            never = report(context, Instant::now()) => match never {},
        };
        let Ok(exit) = ended else { return Ok(None) };
        let _ = timeout(DRAIN, self.open.clone().wait_for(|open| *open == 0)).await;
        Outcome::of(&exit).map(Some)
    }

    fn chunk(
        &self,
        shell: &Shell,
        outcome: Option<Outcome>,
        session_id: Option<u32>,
        begun: Instant,
        max_tokens: Option<usize>,
    ) -> ToolResult {
        let results = shell.config().results.clone();
        let taken = std::mem::replace(&mut *self.output.lock(), Captured::new(BUFFER, results.clone()));
        let original_token_count = taken.total().div_ceil(4);
        let shown = shorten(taken.finish(), max_tokens.unwrap_or(MAX_TOKENS).saturating_mul(4), results);
        let exit_code = outcome.map(|outcome| match outcome {
            Outcome::Exited(code) => code,
            Outcome::Killed(signal) => 128 + signal,
            Outcome::TimedOut => 1,
        });
        if let Some(reason) = exit_code.and_then(|code| setup_failure(code, &shown.text)) {
            return Err(ToolError::failed(format!("nothing was run: cannot build the sandbox: {reason}")));
        }
        let wall_time_seconds = (begun.elapsed().as_secs_f64() * 10_000.0).round() / 10_000.0;
        let state = match (exit_code, session_id) {
            (Some(code), _) => format!("Process exited with code {code}"),
            (None, Some(id)) => format!("Process running with session ID {id}"),
            (None, None) => "Process running".to_owned(),
        };
        let text = format!(
            "Wall time: {wall_time_seconds:.4} seconds\n{state}\nOriginal token count: {original_token_count}\nOutput:\n{}",
            shown.text
        );
        let chunk = Chunk {
            output: shown.text.clone(),
            wall_time_seconds,
            exit_code,
            session_id,
            original_token_count,
        };
        let output = with_link(ToolOutput::text(text).with_structured(&chunk), "output", &shown);
        let output = with_level(output, self.level);
        Ok(if exit_code.is_some_and(|code| code != 0) { output.as_error() } else { output })
    }
}

/// Cuts an output to what the caller wants to see. What is left out goes to the result store.
fn shorten(shown: Shown, most: usize, results: Option<ResultStore>) -> Shown {
    if shown.text.len() <= most {
        return shown;
    }
    let store = if shown.uri.is_some() { None } else { results };
    let mut cut = Captured::new(most, store);
    cut.push(shown.text.as_bytes());
    let cut = cut.finish();
    Shown { uri: cut.uri.or(shown.uri), text: cut.text, total: shown.total }
}

async fn read(mut pipe: ChildStdout, output: Arc<Mutex<Captured>>, open: Arc<watch::Sender<usize>>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        output.lock().push(&buffer[..length]);
    }
    open.send_modify(|open| *open -= 1);
}
