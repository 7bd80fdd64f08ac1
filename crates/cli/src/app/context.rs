//! The context of a command.

use std::sync::Arc;

use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_results::LazyResultStore;

use crate::{
    app::{
        env::Env,
        error::CliError,
        signals::{self, Stalls},
    },
    args::{ColorChoice, Command, LowArgs},
    term::output::Output,
};

/// The context of a command.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) args: LowArgs,
    pub(crate) env: Env,
    pub(crate) out: Output,
    /// Cancelled by the first signal that wants us to end.
    pub(crate) stop: CancellationToken,
    /// Tasks that belong to no host; `main` waits for them when the command is over.
    pub(crate) tasks: TaskTracker,
    /// Renewals of tokens: one that was begun must be finished, because the old token may be void.
    pub(crate) renewals: TaskTracker,
    /// Long results of tools.
    pub(crate) results: Option<Arc<LazyResultStore>>,
}

impl Context {
    /// Whether `-v` was given.
    pub(crate) fn is_verbose(&self) -> bool {
        self.args.global.verbose > 0
    }

    /// Must be called on the runtime.
    pub(crate) fn new(args: LowArgs, env: Env) -> Result<Self, CliError> {
        let color = match args.global.color {
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
            ColorChoice::Auto if !env.allows_color => Some(false),
            ColorChoice::Auto => None,
        };
        let out = match &args.command {
            Some(Command::Background(_)) => Output::to_log(),
            _ => Output::new(args.global.json, args.global.quiet, color),
        };
        let stop = CancellationToken::new();
        signals::listen(stop.clone(), stalls(&args))?;
        let results = env.results().map(|directory| Arc::new(LazyResultStore::new(directory)));
        Ok(Self { args, env, out, stop, tasks: TaskTracker::new(), renewals: TaskTracker::new(), results })
    }
}

/// Whether a command serves clients, who notice when it does not run.
fn stalls(args: &LowArgs) -> Stalls {
    use Command::{Background, Builtin, Codebase, Connect, Serve, Stdio};
    match args.command {
        None | Some(Serve(_) | Background(_) | Stdio(_) | Connect(_) | Codebase(_) | Builtin(_)) => {
            Stalls::Reported
        }
        Some(_) => Stalls::Ignored,
    }
}
