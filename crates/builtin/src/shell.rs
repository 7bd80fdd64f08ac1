//! The server `shell`: runs programs in a sandbox.

mod output;
mod run;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_sandbox::{Helper, Level, Limits, Network};
use toolbay_server::{
    Annotations, Tool, ToolContext, ToolError, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

use crate::result_store::ResultStore;
use run::{Finished, Outcome, Program};

/// How long a program may run, unless the caller asks for another time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest time that a caller may ask for.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// How much of an output is shown, unless the caller asks for another length.
const DEFAULT_OUTPUT: usize = 32 * 1024;
const MAX_OUTPUT: usize = 1024 * 1024;

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// Where programs run, and what they may change.
    pub directory: PathBuf,
    /// What else they may read.
    pub read: Vec<PathBuf>,
    /// What else they may change.
    pub write: Vec<PathBuf>,
    /// What they may connect to.
    pub network: Network,
    /// How much they may use.
    pub limits: Limits,
    /// The sandbox that is reached. Programs run in nothing less.
    pub level: Level,
    /// The program that builds sandboxes.
    pub helper: Helper,
    /// The environment of programs.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where long outputs are kept.
    pub results: Option<ResultStore>,
}

/// Makes the server connectable.
pub fn shell(config: ShellConfig) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    let shell = Shell { config, tasks: TaskTracker::new() };
    in_process(Arc::new(ToolServer::new("shell", shell, tools())))
}

#[derive(Debug)]
struct Shell {
    config: ShellConfig,
    tasks: TaskTracker,
}

fn tools() -> Toolset<Shell> {
    Toolset::new([Tool::new("exec", exec)
        .title("Run a program")
        .description(
            "Run a program with arguments, without a shell, in a sandbox: it can read the project and the system, change only the \
             project, and has no network unless that is configured. For pipes and the like, run [\"bash\", \"-c\", \"…\"].",
        )
        .output::<Ran>()
        .annotations(Annotations {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(false),
            open_world: Some(true),
        })])
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
    /// Its exit code; none if it was ended by a signal or did not end in time
    exit_code: Option<i32>,
    /// The signal that ended it
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

async fn exec(shell: Arc<Shell>, arguments: Exec, _: ToolContext) -> ToolResult {
    let program = Program {
        argv: arguments.argv,
        directory: shell.directory(arguments.cwd.as_deref())?,
        stdin: arguments.stdin.unwrap_or_default(),
        environment: arguments.env,
        timeout: arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT),
        max_output: arguments.max_output.unwrap_or(DEFAULT_OUTPUT).min(MAX_OUTPUT),
    };
    let finished = run::run(&shell.config, &shell.tasks, program).await?;
    Ok(shell.output(finished))
}

impl Shell {
    /// A directory in which a program runs. The sandbox decides whether it may be used.
    fn directory(&self, path: Option<&str>) -> Result<PathBuf, ToolError> {
        let directory = self.config.directory.join(path.unwrap_or_default());
        match directory.canonicalize() {
            Ok(directory) if directory.is_dir() && self.is_allowed(&directory) => Ok(directory),
            Ok(_) => Err(ToolError::argument("cwd", "is not a directory that programs may use")),
            Err(error) => Err(ToolError::argument("cwd", format!("cannot be used: {error}"))),
        }
    }

    fn is_allowed(&self, directory: &Path) -> bool {
        let own = std::iter::once(&self.config.directory);
        own.chain(&self.config.read).chain(&self.config.write).any(|allowed| directory.starts_with(allowed))
    }

    fn output(&self, finished: Finished) -> ToolOutput {
        let Finished { outcome, duration, stdout, stderr } = finished;
        let mut text = stdout.text.clone();
        if !stderr.text.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&stderr.text);
        }
        let (exit_code, signal, timed_out, said) = match outcome {
            Outcome::Exited(0) => (Some(0), None, false, String::new()),
            Outcome::Exited(code) => (Some(code), None, false, format!("[exit code {code}]")),
            Outcome::Killed(signal) => (None, Some(signal), false, format!("[ended by signal {signal}]")),
            Outcome::TimedOut => {
                let said = format!("[ended after {:.1} s, because its time was up]", duration.as_secs_f32());
                (None, None, true, said)
            }
        };
        if !said.is_empty() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&said);
        }
        let ran = Ran {
            exit_code,
            signal,
            timed_out,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            stdout_bytes: stdout.total,
            stderr_bytes: stderr.total,
            stdout: stdout.text,
            stderr: stderr.text,
        };
        let mut output = ToolOutput::text(text).with_structured(&ran);
        for (name, uri) in [("stdout", stdout.uri), ("stderr", stderr.uri)] {
            if let Some(uri) = uri {
                let title = format!("All of {name}");
                output = output.and_block(json!({ "type": "resource_link", "uri": uri, "name": name, "title": title, "mimeType": "text/plain" }));
            }
        }
        if exit_code == Some(0) { output } else { output.as_error() }
    }
}
