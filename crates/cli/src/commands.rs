//! The commands. Those that share most of their code share a file.

mod add;
mod alone;
mod approve;
mod audit;
mod builtin;
mod call;
mod codebase;
mod completions;
mod config;
mod connect;
mod doctor;
mod entry;
mod export;
mod get;
mod hub;
mod import;
mod index;
mod inspect;
mod list;
mod listing;
mod login;
mod logs;
mod pending;
mod policy;
mod prompts;
mod resources;
mod search;
mod secret;
mod serve;
mod server_commands;
mod status;
mod stdio;
mod token;
mod tools;

use std::io::IsTerminal;

use crate::{
    app::{context::Context, error::CliError, session},
    args::{Command, PolicySubcommand, StdioArgs, help},
};

/// Runs the command.
pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    match &context.args.command {
        Some(Command::Serve(args)) => serve::run(context, args).await,
        Some(Command::Codebase(args)) => codebase::run(context, args).await,
        Some(Command::Builtin(args)) => builtin::run(context, args).await,
        Some(Command::Search(args)) => search::run(context, args).await,
        Some(Command::Index(args)) => index::run(context, args).await,
        Some(Command::Stdio(args)) => stdio::run(context, args).await,
        Some(Command::Connect(args)) => connect::run(context, args).await,
        Some(Command::List) => list::run(context).await,
        Some(Command::Get(args)) => get::run(context, args).await,
        Some(Command::Add(args)) => add::run(context, args).await,
        Some(Command::AddJson(args)) => add::run_json(context, args).await,
        Some(Command::Remove(args)) => known(context, entry::remove(context, args)).await,
        Some(Command::Enable(args)) => known(context, entry::enable(context, args)).await,
        Some(Command::Disable(args)) => known(context, entry::disable(context, args)).await,
        Some(Command::Approve(args)) => approve::run(context, args).await,
        Some(Command::Audit(args)) => audit::run(context, args).await,
        Some(Command::Import(args)) => import::run(context, args).await,
        Some(Command::Export(args)) => export::run(context, args),
        Some(Command::Config(command)) => config::run(context, command),
        Some(Command::Secret(command)) => secret::run(context, command).await,
        Some(Command::Token(command)) => token::run(context, command),
        Some(Command::Login(args)) => login::login(context, args).await,
        Some(Command::Logout(args)) => login::logout(context, args).await,
        Some(Command::Auth(command)) => login::auth(context, command).await,
        Some(Command::Policy(PolicySubcommand::Test(args))) => policy::test(context, args).await,
        Some(Command::Pending(command)) => pending::run(context, command).await,
        Some(Command::Tools(args)) => tools::run(context, args).await,
        Some(Command::Call(args)) => call::run(context, args).await,
        Some(Command::Resources(args)) => resources::run(context, args).await,
        Some(Command::Read(args)) => resources::read(context, args).await,
        Some(Command::Prompts(args)) => prompts::run(context, args).await,
        Some(Command::Prompt(args)) => prompts::get(context, args).await,
        Some(Command::Logs(args)) => logs::run(context, args).await,
        Some(Command::Inspect(args)) => inspect::run(context, args).await,
        Some(Command::Status(args)) => status::run(context, args).await,
        Some(Command::Hub(command)) => hub::run(context, command).await,
        Some(Command::Background(args)) => serve::run_background(context, args).await,
        Some(Command::Start(args)) => server_commands::start(context, args).await,
        Some(Command::Stop(args)) => server_commands::stop(context, args).await,
        Some(Command::Restart(args)) => server_commands::restart(context, args).await,
        Some(Command::Doctor(args)) => doctor::run(context, args).await,
        Some(Command::Completions(args)) => completions::run(context, args),
        // Clients start us with a `command` and nothing else.
        None if !std::io::stdin().is_terminal() => stdio::run(context, &StdioArgs::default()).await,
        None => {
            let help = help::command().render_help();
            let help = if context.out.paint.0 { help.ansi().to_string() } else { help.to_string() };
            Ok(context.out.data(&help)?)
        }
    }
}

/// Explains the error of a command that changes files: a server that they do not have may be known to a running hub.
async fn known(context: &Context, done: Result<(), CliError>) -> Result<(), CliError> {
    match done {
        Ok(()) => Ok(()),
        Err(error) => Err(session::explain(context, error).await),
    }
}
