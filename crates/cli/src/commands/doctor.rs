//! `toolbay doctor`: what keeps servers from working, and what to do about it.
//!
//! Every check stands alone and all run side by side: a server that hangs costs its own line and nothing else. Servers are
//! started apart from any running hub, looked at, and stopped again.

mod files;
mod finding;
mod hub;
mod machine;
mod programs;
mod server;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use toolbay_config::ServerConfig;

use self::finding::{Finding, Level};
use crate::{
    args::DoctorArgs, configuration::Configuration, context::Context, error::CliError, login::environment,
    suggest::similar,
};

pub(crate) async fn run(context: &Context, args: &DoctorArgs) -> Result<(), CliError> {
    tokio::select! {
        // Servers end with us: their shims notice.
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        done = examine(context, args) => done,
    }
}

async fn examine(context: &Context, args: &DoctorArgs) -> Result<(), CliError> {
    let mut configuration = Configuration::find(context)?;
    let reading = configuration.read();
    let placed = reading.merged.servers.iter().map(|placed| &placed.server);
    let servers: Vec<&ServerConfig> = match &args.server {
        None => placed.collect(),
        Some(name) => vec![named(name, placed)?],
    };
    let only = args.server.as_deref();
    let patience = Duration::from_secs(args.timeout);
    if !servers.is_empty() && !context.out.is_quiet() && context.out.stderr_is_terminal {
        context.out.note("looking at the servers …");
    }

    let variables = environment(&context.env.variables).await;
    let (around, examined) = tokio::join!(
        async {
            // Whoever asks for one server wants to hear of that.
            match only {
                Some(_) => Vec::new(),
                None => {
                    let (hub, machine) =
                        tokio::join!(hub::check(context), machine::check(context, &configuration));
                    [machine, hub].concat()
                }
            }
        },
        join_all(servers.iter().map(|server| server::check(context, server, &variables, patience))),
    );
    let mut findings = files::check(&configuration, &reading, only);
    findings.extend(programs::check(&variables, &servers));
    findings.extend(around);
    findings.extend(examined.into_iter().flatten());
    findings.extend(machine::survivors());
    show(context, &findings)?;
    match findings.iter().filter(|finding| finding.level == Level::Bad).count() {
        0 => Ok(()),
        problems => Err(CliError::Unwell { problems }),
    }
}

fn named<'a>(
    name: &str,
    servers: impl Iterator<Item = &'a ServerConfig>,
) -> Result<&'a ServerConfig, CliError> {
    let servers: Vec<&ServerConfig> = servers.collect();
    servers.iter().copied().find(|server| server.name.as_str() == name).ok_or_else(|| {
        let known: Vec<String> = servers.iter().map(|server| server.name.as_str().to_owned()).collect();
        let similar = similar(name, known.iter().map(String::as_str));
        CliError::UnknownServer { name: name.to_owned(), similar, known }
    })
}

fn show(context: &Context, findings: &[Finding]) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        let (errors, warnings) = (count(Level::Bad), count(Level::Odd));
        let all = json!({ "ok": errors == 0, "errors": errors, "warnings": warnings, "checks": findings });
        return Ok(out.json_object(&all)?);
    }
    for finding in findings {
        out.data(&finding.to_text(out.paint))?;
    }
    Ok(())
}
