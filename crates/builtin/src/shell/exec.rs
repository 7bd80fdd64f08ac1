//! The tool `exec`: one program with its arguments.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolbay_server::{Tool, ToolContext, ToolOutput, ToolResult};

use super::{
    ANNOTATIONS, DEFAULT_TIMEOUT, MAX_TIMEOUT, Shell,
    run::{self, Finished, Outcome, Run},
    sandbox::Program,
    with_level, with_link,
};

/// How much of an output is shown, unless the caller asks for another length.
const DEFAULT_OUTPUT: usize = 32 * 1024;
const MAX_OUTPUT: usize = 1024 * 1024;

pub(super) fn tool() -> Tool<Shell> {
    Tool::new("exec", exec)
        .title("Run a program")
        .description(
            "Run a program with arguments, without a shell, in a sandbox: it can read the project and the system, change only the \
             project, and has no network unless that is configured. For pipes and the like, run [\"bash\", \"-c\", \"…\"].",
        )
        .output::<Ran>()
        .annotations(ANNOTATIONS)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exec {
    /// The program and its arguments
    #[schemars(length(min = 1))]
    argv: Vec<String>,
    /// The directory to run in, relative to the project (default: the project)
    cwd: Option<String>,
    /// Text for its standard input (default: none)
    stdin: Option<String>,
    /// More environment variables
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Milliseconds after which it is ended (default: 120000)
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// Bytes of standard output and standard error to show, each (default: 32768)
    #[schemars(range(min = 1024, max = 1_048_576))]
    max_output: Option<usize>,
}

/// What a program has done.
#[derive(Serialize, JsonSchema)]
struct Ran {
    /// Its exit code, 128 + N if signal N ended it in the sandbox; none if it did not end in time
    exit_code: Option<i32>,
    /// The signal that ended it, without a sandbox
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// Whether it was ended because its time was up
    timed_out: bool,
    /// How long it ran
    duration_ms: u64,
    /// The beginning and the end of its standard output
    stdout: String,
    /// The beginning and the end of its standard error
    stderr: String,
    /// Bytes of its standard output
    stdout_bytes: u64,
    /// Bytes of its standard error
    stderr_bytes: u64,
}

async fn exec(shell: Arc<Shell>, arguments: Exec, context: ToolContext) -> ToolResult {
    let run = Run {
        program: Program {
            argv: arguments.argv,
            directory: shell.directory("cwd", arguments.cwd.as_deref())?,
            environment: arguments.env,
        },
        stdin: arguments.stdin.unwrap_or_default(),
        timeout: arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT),
        max_output: arguments.max_output.unwrap_or(DEFAULT_OUTPUT).min(MAX_OUTPUT),
    };
    Ok(output(run::run(&shell.launcher, run, &context).await?))
}

fn output(finished: Finished) -> ToolOutput {
    let Finished { outcome, level, duration, stdout, stderr } = finished;
    let (exit_code, signal, note) = match outcome {
        Outcome::Exited(0) => (Some(0), None, String::new()),
        Outcome::Exited(code) => (Some(code), None, format!("[exit code {code}]")),
        Outcome::Killed(signal) => (None, Some(signal), format!("[ended by signal {signal}]")),
        Outcome::TimedOut => {
            let note = format!("[ended after {:.1} s, because its time was up]", duration.as_secs_f32());
            (None, None, note)
        }
    };
    let mut text = String::new();
    for part in [&stdout.text, &stderr.text, &note] {
        if !part.is_empty() && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(part);
    }
    let ran = Ran {
        exit_code,
        signal,
        timed_out: outcome == Outcome::TimedOut,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        stdout_bytes: stdout.total,
        stderr_bytes: stderr.total,
        stdout: stdout.text.clone(),
        stderr: stderr.text.clone(),
    };
    let output = ToolOutput::text(text).with_structured(&ran);
    let output = with_link(with_link(output, "stdout", &stdout), "stderr", &stderr);
    let output = with_level(output, level);
    if exit_code == Some(0) { output } else { output.as_error() }
}
