//! Explanations for calls without a result.

use serde_json::Value;
use toolbay_control::{HubStatus, ServerSnapshot, ServerState};
use toolbay_host::slugs;
use toolbay_protocol::{ErrorObject, ServerName};

use crate::{
    app::{error::CliError, session::Session},
    term::style::clean_line,
};

/// Explains the error response to a request for the tool or prompt `name`; `kind` is the noun, `known` are the existing names.
pub(in crate::commands) async fn explain<'a>(
    session: &Session<'_>,
    kind: &'static str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    error: ErrorObject,
) -> CliError {
    let known: Vec<&str> = known.into_iter().collect();
    let is_listed = known.contains(&name);
    let Ok(snapshot) = session.client.snapshot().await else {
        return call_error(None, error);
    };
    let owner = owner(&snapshot, name);
    match owner {
        Some(server) if !server.is_up => return absent(server, error),
        Some(server) if !is_listed => {
            if let Some(error) = set_aside(&snapshot, server, kind, name) {
                return error;
            }
        }
        _ => {}
    }
    if !is_listed && !known.iter().any(|other| bare(other) == name) {
        return session.unknown(kind, name, known).await;
    }
    call_error(owner.map(|server| server.name.as_str()), error)
}

/// The server whose prefix a name has.
fn owner<'a>(snapshot: &'a HubStatus, name: &str) -> Option<&'a ServerSnapshot> {
    let (prefix, _) = name.split_once("__")?;
    let running = snapshot.servers.iter().filter(|server| server.state != ServerState::Broken);
    let names: Vec<ServerName> = running.map(|server| ServerName::new(server.name.clone())).collect();
    let index = slugs(&names).iter().position(|slug| slug == prefix)?;
    snapshot.servers.get(index)
}

fn bare(name: &str) -> &str {
    name.split_once("__").map_or(name, |(_, bare)| bare)
}

/// The server is there, but not up.
fn absent(server: &ServerSnapshot, error: ErrorObject) -> CliError {
    if server.state == ServerState::NeedsApproval {
        return CliError::NeedsApproval { servers: vec![server.name.clone()] };
    }
    // The hub says why, in the words that every client gets.
    let answer = hub_error(&error, "retryable").or_else(|| hub_error(&error, "reason"));
    let (message, hint) = match (answer, &server.absence) {
        (Some(answer), _) => answer,
        (None, Some(absence)) => (clean_line(&absence.message), absence.hint.as_deref().map(clean_line)),
        (None, None) => return call_error(Some(&server.name), error),
    };
    CliError::Absent { message, hint }
}

/// The server has it, but it cannot be offered.
fn set_aside(snapshot: &HubStatus, server: &ServerSnapshot, kind: &str, name: &str) -> Option<CliError> {
    let is_called = |text: &str| text == name || text == bare(name);
    let mut items = snapshot.quarantined.iter();
    let found = items.find(|item| item.server == server.name && is_called(&item.name))?;
    Some(CliError::SetAside {
        server: server.name.clone(),
        kind: kind.to_owned(),
        name: bare(name).to_owned(),
        reason: found.reason.clone(),
    })
}

/// The server, or the hub for it, answered with an error.
fn call_error(server: Option<&str>, error: ErrorObject) -> CliError {
    if let Some((message, hint)) = hub_error(&error, "retryable") {
        return CliError::Call { message, hint };
    }
    let subject = server.map_or_else(|| "the hub".to_owned(), |server| format!("server `{server}`"));
    CliError::Call {
        message: format!("{subject} returned error {}: {}", error.code.0, error.message),
        hint: None,
    }
}

/// The message and the hint of an error that the hub itself made; its data name the server, and have the field `mark`.
fn hub_error(error: &ErrorObject, mark: &str) -> Option<(String, Option<String>)> {
    let data: Value = serde_json::from_str(error.data.as_ref()?.get()).ok()?;
    data.get("server").and(data.get(mark))?;
    let message = error.message.split("\nhint: ").next().unwrap_or_default().to_owned();
    Some((message, data["hint"].as_str().map(str::to_owned)))
}
