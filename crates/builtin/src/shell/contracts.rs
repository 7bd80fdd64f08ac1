//! The tools of published servers: `run_command` of mcp-server-commands and `shell_execute` of mcp-shell-server.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolbay_server::{Tool, ToolContext, ToolError, ToolOutput, ToolResult};

use super::{
    ANNOTATIONS, MAX_TIMEOUT, Shell, ShellConfig,
    run::{self, Finished, Outcome, Run},
    sandbox::Program,
    with_level, with_link,
};

/// How much of each output is shown, as in both originals.
const MAX_OUTPUT: usize = 1024 * 1024;

/// What a program has done.
#[derive(Serialize, JsonSchema)]
struct Ran {
    /// Its exit code; none if it did not end in time
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn new(finished: &Finished) -> Self {
        let exit_code = match finished.outcome {
            Outcome::Exited(code) => Some(code),
            Outcome::Killed(signal) => Some(128 + signal),
            Outcome::TimedOut => None,
        };
        Self { exit_code, stdout: finished.stdout.text.clone(), stderr: finished.stderr.text.clone() }
    }
}

fn finish(output: ToolOutput, finished: &Finished) -> ToolOutput {
    let output = with_link(output, "stdout", &finished.stdout);
    let output = with_link(output, "stderr", &finished.stderr);
    let output = with_level(output.with_structured(&Ran::new(finished)), finished.level);
    if finished.outcome == Outcome::Exited(0) { output } else { output.as_error() }
}

pub(super) fn run_command() -> Tool<Shell> {
    Tool::new("run_command", run_shell_command)
        .title("Run a command")
        .description("Run a command on this linux machine")
        .output::<Ran>()
        .annotations(ANNOTATIONS)
}

#[derive(Deserialize, JsonSchema)]
struct RunCommand {
    /// Command with args
    command: String,
    /// Optional, current working directory
    workdir: Option<String>,
    /// Optional, text to pipe into the command's STDIN. For example, pass a python script to python3. Or, pass text for a new file to the cat command to create it!
    stdin: Option<String>,
}

async fn run_shell_command(shell: Arc<Shell>, arguments: RunCommand, context: ToolContext) -> ToolResult {
    let RunCommand { command, workdir, stdin } = arguments;
    if command.is_empty() {
        return Err(ToolError::failed("Command is required, current value: "));
    }
    let run = Run {
        program: Program {
            argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command.clone()],
            directory: shell.directory("workdir", workdir.as_deref())?,
            environment: BTreeMap::new(),
        },
        stdin: stdin.unwrap_or_default(),
        timeout: MAX_TIMEOUT,
        max_output: MAX_OUTPUT,
    };
    let finished = run::run(&shell.launcher, run, &context).await?;
    let failure = match finished.outcome {
        Outcome::Exited(0) => String::new(),
        Outcome::TimedOut => format!("Command timed out: {command}\n{}", finished.stderr.text),
        _ => format!("Command failed: {command}\n{}", finished.stderr.text),
    };
    let parts = [("ERROR", &failure), ("STDOUT", &finished.stdout.text), ("STDERR", &finished.stderr.text)];
    let blocks = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let output = blocks.fold(ToolOutput::default(), |output, (name, text)| {
        output.and_block(&json!({ "type": "text", "text": text, "name": name }))
    });
    Ok(finish(output, &finished))
}

/// Seconds that a program may run: unless the caller says, and at most.
const SHELL_TIMEOUT: u64 = 30;
const MAX_SHELL_TIMEOUT: u64 = 300;

pub(super) fn shell_execute(config: &ShellConfig) -> Tool<Shell> {
    let allowed = match &config.allow_commands {
        Some(names) => format!("\nAllowed commands: {}", names.join(", ")),
        None => String::new(),
    };
    let description = format!(
        "Execute a command as an argv array, in a sandbox: it can read the project and the system, change only the project, and \
         has no network unless that is configured. `|`, `<`, `>` and `>>` may stand between words.{allowed}\n\
         Default timeout: {SHELL_TIMEOUT}s; maximum timeout: {MAX_SHELL_TIMEOUT}s"
    );
    Tool::new("shell_execute", execute)
        .title("Execute a command")
        .description(description)
        .output::<Ran>()
        .annotations(ANNOTATIONS)
}

#[derive(Deserialize, JsonSchema)]
struct Execute {
    /// Command and its arguments as array
    command: Vec<String>,
    /// Input to be passed to the command via stdin
    stdin: Option<String>,
    /// Optional working directory, relative to the project (default: the project)
    directory: Option<String>,
    /// Maximum execution time in seconds; clamped to server maximum
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

async fn execute(shell: Arc<Shell>, arguments: Execute, context: ToolContext) -> ToolResult {
    let failed = |reason: String| ToolError::failed(format!("Error executing command: {reason}"));
    let Execute { mut command, stdin, directory, timeout } = arguments;
    // As in the original, nothing need follow a pipe.
    let is_pipeline = command.iter().any(|word| word == PIPE);
    command.pop_if(|word| word == PIPE);
    check(&command, shell.config().allow_commands.as_deref()).map_err(failed)?;
    if let Some(path) = directory.as_deref().filter(|path| !shell.config().directory.join(path).exists()) {
        return Err(failed(format!("Directory does not exist: {path}")));
    }
    let seconds = timeout.unwrap_or(SHELL_TIMEOUT).min(MAX_SHELL_TIMEOUT);
    let run = Run {
        program: Program {
            argv: with_operators(command),
            directory: shell.directory("directory", directory.as_deref())?,
            environment: BTreeMap::new(),
        },
        stdin: stdin.unwrap_or_default(),
        timeout: Duration::from_secs(seconds),
        max_output: MAX_OUTPUT,
    };
    let mut finished = run::run(&shell.launcher, run, &context).await?;
    // The original does so for single commands only.
    for shown in [&mut finished.stdout, &mut finished.stderr].into_iter().filter(|_| !is_pipeline) {
        shown.text = shown.text.trim().to_owned();
    }
    let (stdout, stderr) = (&finished.stdout.text, &finished.stderr.text);
    let mut failure = match finished.outcome {
        Outcome::Exited(0) => {
            let texts = [stdout, stderr].into_iter().filter(|text| !text.is_empty());
            return Ok(finish(texts.fold(ToolOutput::default(), ToolOutput::and_text), &finished));
        }
        Outcome::Exited(code) => format!("Command failed with exit status {code}"),
        Outcome::Killed(signal) => format!("Command terminated by signal {signal}"),
        Outcome::TimedOut => format!("Command timed out after {seconds} seconds"),
    };
    for (name, text) in
        [("stdout", stdout), ("stderr", stderr)].into_iter().filter(|(_, text)| !text.is_empty())
    {
        failure.push_str(&format!("\n{name}:\n{text}"));
    }
    Ok(finish(ToolOutput::text(format!("Error executing command: {failure}")), &finished))
}

const PIPE: &str = "|";

fn is_redirection(word: &str) -> bool {
    ["<", ">", ">>"].contains(&word)
}

/// Checks what the original checks, in its words. None of it keeps a program from running others: the sandbox does.
fn check(command: &[String], allowed: Option<&[String]>) -> Result<(), String> {
    if command.is_empty() {
        return Err("No command provided".to_owned());
    }
    if let Some(operator) = command.iter().find(|word| [";", "&&", "||"].contains(&word.as_str())) {
        let place = if command.iter().any(|word| word == PIPE) { " in pipeline" } else { "" };
        return Err(format!("Unexpected shell operator{place}: {operator}"));
    }
    for part in command.split(|word| word == PIPE) {
        let name = part.first().ok_or("Empty command before pipe operator")?;
        if name.is_empty() {
            return Err("Empty command".to_owned());
        }
        if allowed.is_some_and(|allowed| !allowed.contains(name)) {
            return Err(format!("Command not allowed: {name}"));
        }
        for (index, word) in part.iter().enumerate().filter(|(_, word)| is_redirection(word)) {
            match part.get(index + 1) {
                None => {
                    let kind = if word == "<" { "input" } else { "output" };
                    return Err(format!("Missing path for {kind} redirection"));
                }
                Some(path) if is_redirection(path) => {
                    return Err("Invalid redirection target: operator found".to_owned());
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Words as they are, or for a shell if operators are among them. All other words are quoted.
fn with_operators(command: Vec<String>) -> Vec<String> {
    let is_operator = |word: &str| word == PIPE || is_redirection(word);
    if !command.iter().any(|word| is_operator(word)) {
        return command;
    }
    let quote = |word: &String| match is_operator(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let script: Vec<String> = command.iter().map(quote).collect();
    vec!["/bin/sh".to_owned(), "-c".to_owned(), script.join(" ")]
}
