//! `toolbay doctor`: finds problems of servers and configuration, with hints.
//!
//! Checks are independent and run in parallel: a server that hangs costs its own line and nothing else. Servers are
//! started apart from any running hub, examined, and stopped again.

mod files;
mod hub;
mod machine;
mod programs;
mod report;
mod secrets;
mod server;

use std::{collections::BTreeSet, pin::pin, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use toolbay_config::ServerConfig;
use toolbay_host::{HostOptions, Shim};

use self::report::DoctorReport;
use crate::commands::doctor::report::Finding;
use crate::{
    app::{
        built_in::BuiltInServers,
        codebases::OpenTrees,
        context::Context,
        env::environment,
        error::{CliError, similar},
        hub::forbid_core_dumps,
        logins::Logins,
    },
    args::DoctorArgs,
    configured::files::Configuration,
};

/// The order of the checks in JSON; the servers come last, each with a number of its own.
const CONFIG: usize = 0;
const PROGRAMS: usize = 1;
const AROUND: usize = 2;
const SERVERS: usize = 3;

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
    let mut report = DoctorReport::new(context);
    report.add(CONFIG, files::check(&configuration, &reading, only))?;
    report.add(CONFIG, files::check_pins(context, &reading, only))?;
    report.add(CONFIG, secrets::check_files(&configuration, only))?;
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    report.wait_for(&names);

    let variables = environment(context).await;
    report.add(PROGRAMS, programs::check(&variables, &servers))?;
    report.add(PROGRAMS, programs::check_versions(context, &servers))?;
    report.add(PROGRAMS, programs::check_built_in(&servers))?;
    forbid_core_dumps();
    let options = HostOptions {
        naming: context.args.global.naming.unwrap_or_default(),
        base_env: variables,
        shim: Shim::current_exe(),
        connector: Some(BuiltInServers::new(context, OpenTrees::unstored(context), None).connector(None)),
        authorizers: Logins::open(context)
            .map(|logins| logins.with_secrets(configuration.secrets.clone()).authorizers()),
        secrets: Some(configuration.secrets.lookup()),
        ..HostOptions::default()
    };
    let (options, limit) = (&options, Duration::from_secs(args.timeout));
    // For a single server, only its own findings matter.
    let mut around = pin!(async {
        let (secrets, around) = tokio::join!(
            secrets::check(context, &configuration, &servers),
            around(context, &configuration, only.is_none()),
        );
        [secrets, around].concat()
    });
    let mut is_around_known = false;
    let examine = |(index, server)| async move { (index, server::check(server, options, limit).await) };
    let mut running: FuturesUnordered<_> = servers.iter().copied().enumerate().map(examine).collect();
    let mut awaited: BTreeSet<usize> = (0..servers.len()).collect();
    while !(is_around_known && awaited.is_empty()) {
        let waiting: Vec<&str> = awaited.iter().map(|index| names[*index]).collect();
        report.wait_for(&waiting);
        tokio::select! {
            findings = &mut around, if !is_around_known => {
                is_around_known = true;
                report.add(AROUND, findings)?;
            }
            Some((index, findings)) = running.next() => {
                awaited.remove(&index);
                report.add(SERVERS + index, findings)?;
            }
        }
    }
    report.add(SERVERS + servers.len(), machine::survivors())?;
    report.finish()
}

/// The machine and the running hub.
async fn around(context: &Context, configuration: &Configuration, is_wanted: bool) -> Vec<Finding> {
    if !is_wanted {
        return Vec::new();
    }
    let (hub, machine) = tokio::join!(hub::check(context), machine::check(context, configuration));
    [machine, hub].concat()
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
