//! Checks the running hub, if there is one, and its port.

use std::{net::SocketAddr, time::Duration};

use tokio::{net::TcpStream, time::timeout};
use toolbay_control::{ControlError, HubStatus};

use super::report::Finding;
use crate::app::{
    context::Context, error::CliError, hub::DEFAULT_ADDRESS, port_owner::PortOwner, session::running,
};

const CHECK: &str = "hub";
/// A hub answers from memory.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn check(context: &Context) -> Vec<Finding> {
    let status = timeout(TIMEOUT, async { running(context).await?.snapshot().await.map_err(CliError::from) });
    match status.await {
        Err(_) => {
            let message = format!("the running hub did not respond within {} s", TIMEOUT.as_secs());
            vec![Finding::bad(CHECK, message).fix("restart it")]
        }
        Ok(Ok(snapshot)) => found(&snapshot).await,
        Ok(Err(CliError::Control(ControlError::NoHub))) => none(),
        Ok(Err(error)) => vec![Finding::bad(CHECK, error.to_string())],
    }
}

async fn found(snapshot: &HubStatus) -> Vec<Finding> {
    let ready = snapshot.servers.iter().filter(|server| server.is_up).count();
    let place = snapshot.url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
    let message = format!(
        "process {} serves{place}, {ready} of {} servers ready",
        snapshot.pid,
        snapshot.servers.len()
    );
    let mut findings = vec![Finding::good(CHECK, message)];
    if let Some(address) = snapshot.url.as_deref().and_then(address) {
        findings.extend(check_address(address, snapshot.pid).await);
    }
    if !snapshot.config_problems.is_empty() {
        let message = "it uses an older configuration because its files are invalid";
        let details = snapshot.config_problems.iter().map(ToString::to_string).collect();
        findings.push(
            Finding::odd(CHECK, message)
                .details(details)
                .fix("fix them; changes are picked up automatically"),
        );
    }
    if let Some(advice) =
        snapshot.exposure.as_ref().and_then(|exposure| exposure.advice(snapshot.tool_tokens))
    {
        let fix = "set `exposure = \"auto\"` in [hub], or start it with --exposure auto; `toolbay tools --cost` shows which tools take them";
        findings.push(Finding::odd("context", advice).fix(fix));
    }
    let hidden = snapshot.notes.iter().filter(|note| note.text.starts_with("shared identity"));
    let hidden: Vec<String> = hidden.map(|note| format!("{}: {}", note.server, note.text)).collect();
    if !hidden.is_empty() {
        findings.push(
            Finding::odd(CHECK, "it has several principals, and servers with credentials of yours")
                .details(hidden),
        );
    }
    findings
}

/// Whether clients get through to that hub.
async fn check_address(address: SocketAddr, pid: u32) -> Option<Finding> {
    match timeout(TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => {}
        _ => {
            let message = format!("it cannot be reached at {address}");
            return Some(Finding::bad(CHECK, message).fix("restart it"));
        }
    }
    let holder = PortOwner::of(address).filter(|holder| holder.pid != pid)?;
    let message = format!("{holder} listens on {address}");
    Some(Finding::bad(CHECK, message).fix("end that process, or start the hub with another --listen"))
}

/// No hub runs; would one get its usual port?
fn none() -> Vec<Finding> {
    match PortOwner::of(DEFAULT_ADDRESS) {
        None => vec![Finding::good(CHECK, "not running; start one with `toolbay serve`")],
        Some(holder) => {
            let message =
                format!("not running, and its default address {DEFAULT_ADDRESS} is in use by {holder}");
            vec![Finding::odd(CHECK, message).fix("use a free port: toolbay serve --listen 127.0.0.1:0")]
        }
    }
}

/// `http://127.0.0.1:4100/mcp` to the address in it.
fn address(url: &str) -> Option<SocketAddr> {
    url.split_once("://")?.1.split('/').next()?.parse().ok()
}
