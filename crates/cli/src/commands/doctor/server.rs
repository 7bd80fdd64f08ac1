//! Checks one server: starts it, examines it, stops it.

use std::time::{Duration, Instant};

use tokio::time::timeout;
use toolbay_config::{Permission, ServerConfig, ServerOptions, Start};
use toolbay_control::ServerSnapshot;
use toolbay_host::{CatalogKind, Host, HostOptions, LogSource, ServerState};
use toolbay_protocol::model::Tool;

use super::report::Finding;
use crate::term::{status_view::counts, time::short};

const CHECK: &str = "server";
/// Servers that exit when their stdin is closed have exited by then; others get a signal.
const SOON: Duration = Duration::from_millis(1900);
/// Longer than signals take.
const LONG_STOP: Duration = Duration::from_secs(10);
/// How many lines of stderr are shown.
const STDERR_LINES: usize = 5;

/// Checks one server. Takes as long as it takes to start and stop, but at most `limit` for the start.
pub(super) async fn check(config: &ServerConfig, options: &HostOptions, limit: Duration) -> Vec<Finding> {
    let name = config.name.as_str();
    let findings = match config.permission {
        Permission::Enabled => run(config, options, limit).await,
        Permission::Disabled => vec![Finding::good(CHECK, "disabled; not started")],
        Permission::Pending => {
            let message = "it came with a project and needs approval; not started";
            vec![Finding::odd(CHECK, message).fix(format!("review it with `toolbay approve {name}`"))]
        }
    };
    findings.into_iter().map(|finding| finding.about(name)).collect()
}

async fn run(config: &ServerConfig, options: &HostOptions, limit: Duration) -> Vec<Finding> {
    let name = config.name.as_str();
    let tuning = ServerOptions { start: Start::Eager, ..config.tuning.clone() };
    let config = ServerConfig { tuning, ..config.clone() };
    let started = Instant::now();
    let host = Host::start(&[config], Vec::new(), options);
    let settled = timeout(limit, host.wait_for(name)).await;
    let took = started.elapsed();
    let mut findings = match settled {
        Ok(_) => state(&host, name, took),
        // It is being retried; the error of the last attempt is more useful than that.
        Err(_) if host.status(name).is_some_and(|status| status.state.failure().is_some()) => {
            state(&host, name, took)
        }
        Err(_) => {
            let phase = host.status(name).map(|status| status.state.to_string()).unwrap_or_default();
            let message = format!("it was not ready within {} s (it was {phase})", limit.as_secs());
            let fix = format!(
                "check what the server logged; if it is just slow: toolbay doctor {name} --timeout {}",
                4 * limit.as_secs()
            );
            vec![Finding::bad(CHECK, message).details(stderr_tail(&host, name)).fix(fix)]
        }
    };
    findings.extend(purity(&host, name));
    let stopping = Instant::now();
    host.stop(LONG_STOP).await;
    if stopping.elapsed() > SOON {
        let message =
            format!("it did not exit when its stdin was closed, but {} later", short(stopping.elapsed()));
        findings.push(
            Finding::odd("stop", message)
                .fix("it should exit when its stdin is closed; report it to its author"),
        );
    }
    findings
}

/// The finding for its state after the start.
fn state(host: &Host, name: &str, took: Duration) -> Vec<Finding> {
    let Some(status) = host.status(name) else { return Vec::new() };
    let snapshot = ServerSnapshot::of(&status);
    if !status.state.is_up() {
        let what = if matches!(status.state, ServerState::AuthRequired { .. }) {
            "it requires a login: "
        } else {
            ""
        };
        let see_logs = format!("see `toolbay logs {name}`");
        return vec![match snapshot.failure {
            Some(failure) => {
                let finding = Finding::bad(CHECK, format!("{what}{}", failure.full_message()));
                finding.details(failure.stderr).fix(failure.hint.unwrap_or(see_logs))
            }
            None => Finding::bad(CHECK, snapshot.state.as_str()).fix(see_logs),
        }];
    }
    let revision = match status.revision {
        Some(revision) if revision.features().has_sessions() => format!("{} (handshake)", revision.as_str()),
        Some(revision) => format!("{} (stateless)", revision.as_str()),
        None => "unknown revision".to_owned(),
    };
    let message =
        format!("ready after {}, {revision} over {}, {}", short(took), status.transport, counts(&snapshot));
    let mut findings = vec![Finding::good(CHECK, message)];
    findings.extend(
        snapshot.problems.iter().map(|problem| {
            Finding::odd("lists", problem.as_str()).fix("report it to the author of the server")
        }),
    );
    let table = host.table();
    findings.extend(table.quarantined.iter().map(|set_aside| {
        let message =
            format!("the {} `{}` is not offered: {}", set_aside.kind, set_aside.name, set_aside.reason);
        Finding::odd("quarantine", message).fix("report it to the author of the server")
    }));
    findings.extend(
        table
            .notes()
            .map(|(_, note)| Finding::odd("definitions", note).fix("report it to the author of the server")),
    );
    let tools =
        status.catalog.list(CatalogKind::Tools).iter().filter_map(|item| Tool::parse(item.clone()).ok());
    let shortened: Vec<String> = tools
        .filter_map(|tool| {
            let offered = table.tool_of(name, tool.name())?;
            (!offered.ends_with(tool.name())).then(|| format!("{} is {offered}", tool.name()))
        })
        .collect();
    if !shortened.is_empty() {
        let message = "some tools are renamed for clients because their names are too long or invalid";
        findings.push(
            Finding::odd("names", message).details(shortened).fix("a shorter name for the server may help"),
        );
    }
    findings
}

/// Whether stdout carries messages and nothing else.
fn purity(host: &Host, name: &str) -> Option<Finding> {
    let noise = host.status(name)?.counts.noise;
    if noise == 0 {
        return None;
    }
    let lines = host.server(name)?.log().since(0);
    let first = lines.iter().find(|line| line.source == LogSource::StdoutNoise);
    let message = match noise {
        1 => "it wrote a line to stdout that is not a message".to_owned(),
        noise => format!("it wrote {noise} lines to stdout that are not messages"),
    };
    let finding = Finding::odd("stdout", message).fix("logs belong on stderr; report it to its author");
    Some(finding.details(first.map(|line| line.text.to_string()).into_iter().collect()))
}

fn stderr_tail(host: &Host, name: &str) -> Vec<String> {
    let Some(server) = host.server(name) else { return Vec::new() };
    let lines = server.log().since(0);
    let mut tail: Vec<String> = lines
        .iter()
        .filter(|line| line.source == LogSource::Stderr)
        .map(|line| line.text.to_string())
        .collect();
    tail.dedup(); // it may have been started more than once
    tail[tail.len().saturating_sub(STDERR_LINES)..].to_vec()
}
