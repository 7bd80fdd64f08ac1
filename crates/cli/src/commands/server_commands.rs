//! `toolbay start`, `stop` and `restart`: servers of the running hub.
//!
//! All servers are started or stopped at once, so that a command takes as long as the slowest one. One that fails does not affect the
//! others.

use futures_util::future::join_all;
use serde_json::json;
use toolbay_control::{HubStatus, ServerSnapshot, ServerState, method};

use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
        exit,
        session::{self, Session},
    },
    args::ServerNamesArgs,
    term::status_view::{Times, View, trouble},
};

/// `toolbay start`: starts servers of the running hub.
pub(crate) async fn start(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::START, Goal::Up).await
}

/// `toolbay stop`: stops servers until they are started again.
pub(crate) async fn stop(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::STOP, Goal::Down).await
}

/// `toolbay restart`: restarts servers of the running hub.
pub(crate) async fn restart(context: &Context, args: &ServerNamesArgs) -> Result<(), CliError> {
    give(context, args, method::RESTART, Goal::Up).await
}

/// The wanted state of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Up,
    Down,
}

/// Gives an order, one of the control API's methods, and shows where the servers are then.
async fn give(context: &Context, args: &ServerNamesArgs, method: &str, goal: Goal) -> Result<(), CliError> {
    session::with_running(context, async |session| {
        let snapshot = session.client.snapshot().await?;
        let names = if args.all { all(&snapshot) } else { each_once(&args.servers) };
        let orders = names.iter().map(|name| execute(session, &snapshot, method, name));
        let mut errors = Vec::new();
        let mut servers = Vec::new();
        for outcome in join_all(orders).await {
            match outcome {
                Ok(server) => servers.push(server),
                Err(error) => errors.push(error),
            }
        }
        show(context, args, &servers)?;
        let missed = servers.iter().filter(|server| goal == Goal::Up && !server.is_up);
        errors.extend(
            missed.map(|server| CliError::NotReady { server: server.name.clone(), trouble: trouble(server) }),
        );
        // The last one is returned and decides on the exit code, as the error of any command.
        let Some(last) = errors.pop() else { return Ok(()) };
        for error in &errors {
            exit::report(error, context.out.json);
        }
        Err(last)
    })
    .await
}

async fn execute(
    session: &Session<'_>,
    snapshot: &HubStatus,
    method: &str,
    name: &str,
) -> Result<ServerSnapshot, CliError> {
    let known: Vec<&str> = snapshot.servers.iter().map(|server| server.name.as_str()).collect();
    if !known.contains(&name) {
        let similar = similar(name, known.iter().copied());
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(CliError::UnknownServer { name: name.to_owned(), similar, known });
    }
    let params = json!({ "server": name }).to_string();
    Ok(session.client.request_as(method, Some(&params)).await?)
}

/// The names of servers that may run.
fn all(snapshot: &HubStatus) -> Vec<&str> {
    use ServerState::{Broken, Disabled, NeedsApproval};
    let may_run = |server: &&ServerSnapshot| !matches!(server.state, Disabled | NeedsApproval | Broken);
    snapshot.servers.iter().filter(may_run).map(|server| server.name.as_str()).collect()
}

fn each_once(typed: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in typed {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn show(context: &Context, args: &ServerNamesArgs, servers: &[ServerSnapshot]) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        let mut fields = json!({ "servers": servers });
        // For a single server there is also a field without a list.
        if let ([_], [server]) = (&args.servers[..], servers) {
            fields["server"] = json!(server);
        }
        return Ok(out.json_object(&fields)?);
    }
    if servers.is_empty() {
        return Ok(());
    }
    let view = View { columns: out.columns, ..View::new(out.paint, Times::Start) };
    for line in view.table(&servers.iter().collect::<Vec<_>>()) {
        out.data(&format!("{line}\n"))?;
    }
    Ok(())
}
