//! `toolbay hub`: status, stop, restart and logs of the shared hub.

mod logs;

use std::{
    collections::HashMap,
    fs,
    time::{Duration, Instant, SystemTime},
};

use toolbay_control::{ClientSnapshot, ControlClient, ControlError, HubSnapshot, millis};
use toolbay_supervise::daemon;

use crate::{
    app::{context::Context, error::CliError, hub::HubPlan, session, shared_hub::SharedHub},
    args::HubCommand,
    term::{
        style::clean_line,
        table::{Cell, Look, render},
        time::short,
    },
};

/// How long a hub may take to end: its requests, then its servers.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// How often one looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) async fn run(context: &Context, command: &HubCommand) -> Result<(), CliError> {
    let work = async {
        match command {
            HubCommand::Status => status(context).await,
            HubCommand::Stop => stop(context).await,
            HubCommand::Restart => restart(context).await,
            HubCommand::Logs(args) => logs::run(context, args).await,
        }
    };
    tokio::select! {
        () = context.stop.cancelled() => Err(CliError::Interrupted),
        done = work => done,
    }
}

async fn status(context: &Context) -> Result<(), CliError> {
    let mut hub = session::running(context).await?.hub().await?;
    hub.memory_kib = memory_of(hub.pid);
    hub.servers_memory_kib = Some(memory_below(hub.pid));
    let out = &context.out;
    if out.json {
        return Ok(out.json_object(&hub)?);
    }
    for line in lines(&hub) {
        out.data(&format!("{line}\n"))?;
    }
    if !hub.clients.is_empty() {
        let head = ["CLIENT", "PRINCIPAL", "PROCESS", "TRANSPORT", "PROJECT", "CONNECTED"];
        let head = head.map(|title| Cell::new(title, Look::Dim)).to_vec();
        let rows = std::iter::once(head).chain(hub.clients.iter().map(row)).collect::<Vec<_>>();
        for line in render(&rows, out.paint) {
            out.data(&format!("{line}\n"))?;
        }
    }
    Ok(())
}

async fn stop(context: &Context) -> Result<(), CliError> {
    let client = match session::running_here(context).await {
        Err(error @ CliError::Control(ControlError::NoHub)) => {
            for config in session::configs(context).await {
                let config = config.display();
                context
                    .out
                    .note(&format!("a hub with another configuration is running: use --config {config}"));
            }
            return Err(error);
        }
        found => found?,
    };
    let hub = client.hub().await?;
    end(&client, &hub).await?;
    context.out.note(&format!("stopped the hub (process {})", hub.pid));
    Ok(())
}

async fn restart(context: &Context) -> Result<(), CliError> {
    let plan = HubPlan::read(context)?;
    let client = ControlClient::at(&context.env.socket_dirs().place(&plan.identity.files)).await;
    match client {
        Ok(client) => {
            let hub = client.hub().await?;
            if !hub.background {
                return Err(CliError::InForeground { pid: hub.pid });
            }
            end(&client, &hub).await?;
        }
        Err(ControlError::NoHub) => {}
        Err(error) => return Err(error.into()),
    }
    // Clients that wait for the hub find it by themselves.
    let hub = SharedHub::new(context, &plan).find_or_start().await?.hub().await?;
    context.out.note(&format!("started the hub (process {})", hub.pid));
    Ok(())
}

/// Ends a hub, and waits until its process has exited.
async fn end(client: &ControlClient, hub: &HubSnapshot) -> Result<(), CliError> {
    client.shut_down().await?;
    let began = Instant::now();
    while daemon::is_alive(hub.pid) {
        if began.elapsed() > END_TIMEOUT {
            return Err(CliError::StillRunning { pid: hub.pid, limit: END_TIMEOUT });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

fn lines(hub: &HubSnapshot) -> Vec<String> {
    let place = if hub.background { "in the background" } else { "in a terminal" };
    let mut lines = vec![format!(
        "Toolbay {}, process {}, {place} for {}",
        hub.build.version,
        hub.pid,
        short(since(hub.started_ms))
    )];
    let mut add = |name: &str, value: String| lines.push(format!("{name:<15}{}", clean_line(&value)));
    for file in &hub.config_files {
        add("configuration", file.display().to_string());
    }
    for url in &hub.urls {
        add("URL", url.clone());
    }
    if let Some(socket) = &hub.socket {
        add("socket", socket.display().to_string());
    }
    if let Some(log) = &hub.log {
        add("log", log.display().to_string());
    }
    let memory = |kib: Option<u64>| kib.map_or("?".to_owned(), mib);
    add("memory", format!("{}, servers {}", memory(hub.memory_kib), memory(hub.servers_memory_kib)));
    for name in &hub.unset_variables {
        add("not set", format!("{name} (set for a client, but not for the hub)"));
    }
    add("clients", hub.clients.len().to_string());
    lines
}

fn row(client: &ClientSnapshot) -> Vec<Cell> {
    let none = || "–".to_owned();
    let root = client.root.as_ref().map(|root| root.display().to_string());
    vec![
        clean_line(&client.name.clone().unwrap_or_else(none)).into(),
        clean_line(&client.principal).into(),
        client.pid.map_or_else(none, |pid| pid.to_string()).into(),
        client.transport.clone().into(),
        clean_line(&root.unwrap_or_else(none)).into(),
        format!("{} ago", short(since(client.since_ms))).into(),
    ]
}

/// How long ago a time in milliseconds since 1970 was.
fn since(time_ms: u64) -> Duration {
    Duration::from_millis(millis(SystemTime::now()).saturating_sub(time_ms))
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

/// The resident memory of a process, in KiB.
fn memory_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The resident memory of all descendants of a process, in KiB.
fn memory_below(pid: u32) -> u64 {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(parent) = parent(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut waiting = vec![pid];
    let mut sum = 0;
    while let Some(next) = waiting.pop() {
        for child in children.remove(&next).unwrap_or_default() {
            sum += memory_of(child).unwrap_or(0);
            waiting.push(child);
        }
    }
    sum
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may itself contain some.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(1)?.parse().ok()
}
