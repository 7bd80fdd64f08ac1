//! The command line of Toolbay.
//!
//! Thin: it reads arguments ([`args`]) and the environment ([`app::env`]), wires the libraries together, and prints results. Data goes
//! to stdout, everything else to stderr; with `stdio`, stdout carries MCP messages only.

#![forbid(unsafe_code)]

mod app;
mod args;
mod commands;
mod configured;
mod term;

use std::{process::ExitCode, sync::Mutex, time::Duration};

use toolbay_host::shim;
use toolbay_supervise::{RotatingFile, daemon};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::writer::BoxMakeWriter,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    app::{context::Context, env::Env, error::CliError, exit, shared_hub::open_log},
    args::{Command, LowArgs},
};

/// How long the tasks of a command may take to end once it is over.
const LAST_TASKS: Duration = Duration::from_millis(500);
/// How long a renewal of tokens that has begun may take.
const LAST_RENEWALS: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    toolbay_sandbox::run_functions_if_asked(app::code_mode::functions().as_slice());
    shim::run_if_asked();
    daemon::run_if_asked();
    let args = LowArgs::read();
    let mut env = Env::read();
    let mut verbosity = args.global.verbose;
    let mut log = None;
    if let Some(Command::Background(args)) = &args.command {
        env = env.with_folders(&args.spec.folders);
        verbosity = verbosity.max(1);
        // If it cannot be opened, the log goes to stderr.
        log = open_log(&args.spec.log).and_then(RotatingFile::take_stdio).ok();
    }
    init_log(&env, verbosity, log);
    if let Err(error) = shim::become_subreaper() {
        tracing::warn!(%error, "orphaned processes of servers may outlive a killed shim");
    }
    let runtime = match runtime(args.global.workers) {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&error, args.global.json),
    };
    let json = args.global.json;
    let done = runtime.block_on(async {
        let context = Context::new(args, env)?;
        let done = commands::run(&context).await;
        // Ends logins that wait for their users.
        context.stop.cancel();
        context.renewals.close();
        let _ = tokio::time::timeout(LAST_RENEWALS, context.renewals.wait()).await;
        context.tasks.close();
        // A task that reads a file on a network that is down may never end.
        let _ = tokio::time::timeout(LAST_TASKS, context.tasks.wait()).await;
        done
    });
    // A read of our own stdin may still block a thread; there is nothing left to wait for.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error, json),
    }
}

fn runtime(workers: Option<usize>) -> Result<tokio::runtime::Runtime, CliError> {
    let mut builder = match workers {
        None => tokio::runtime::Builder::new_current_thread(),
        Some(workers) => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(workers.max(1));
            builder
        }
    };
    Ok(builder.enable_all().build()?)
}

/// Sends log messages to `file`, else to stderr.
fn init_log(env: &Env, verbose: u8, file: Option<RotatingFile>) {
    let default = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let filter = env.log_filter.as_deref().and_then(|filter| filter.parse().ok());
    let colors = env.allows_color && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let writer = match file {
        Some(file) => BoxMakeWriter::new(Mutex::new(file)),
        None => BoxMakeWriter::new(std::io::stderr),
    };
    tracing_subscriber::registry()
        .with(tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(colors))
        .with(filter.unwrap_or_else(|| Targets::new().with_default(default)))
        .init();
}
