//! Why a tool or prompt that a caller names is unavailable.

use std::fmt;

use tokio::time::Instant;
use toolbay_protocol::{Request, ServerName};

use crate::{Host, ServerState, catalog::slug_of};

/// Why a named tool or prompt cannot be used now, although its server is known.
#[derive(Debug, Clone)]
pub struct Unavailable {
    /// The server it belongs to.
    pub server: ServerName,
    why: UnavailableReason,
}

#[derive(Debug, Clone)]
enum UnavailableReason {
    /// The server is down.
    Down(ServerState),
    /// The server is up, but this item is quarantined.
    SetAside { kind: &'static str, name: String, reason: String },
}

impl Host {
    /// Why a named tool or prompt is unavailable; none where the name has no known server, or where the server is up and has
    /// nothing of that name.
    pub fn absence(&self, name: &str) -> Option<Unavailable> {
        let table = self.peek_table();
        let entry = self.entry_of(name);
        let bare = if entry.is_some() { name.split_once("__").map_or(name, |(_, bare)| bare) } else { name };
        let is_meant = |server: &ServerName| entry.as_ref().is_none_or(|entry| entry.name == *server);
        // Of long names only the beginning is kept.
        let is_named = |known: &str| known == bare || (known.len() >= 128 && bare.starts_with(known));
        let set_aside = table.quarantined.iter().find(|it| is_named(&it.name) && is_meant(&it.server));
        if let Some(it) = set_aside {
            let (kind, name, reason) = (it.kind, it.name.clone(), it.reason.clone());
            return Some(Unavailable {
                server: it.server.clone(),
                why: UnavailableReason::SetAside { kind, name, reason },
            });
        }
        let entry = entry?;
        Unavailable::of_server(&entry.name, entry.state())
    }

    /// The server that a request for a tool or prompt names, if the user has to log in there first.
    pub fn required_login(&self, request: &Request) -> Option<ServerName> {
        let name = request.call.string_param("name")?;
        let entry = self.entry_of(&name)?;
        matches!(entry.state(), ServerState::LoginRequired { .. }).then(|| entry.name.clone())
    }

    fn entry_of(&self, name: &str) -> Option<std::sync::Arc<crate::servers::registry::RegisteredServer>> {
        self.shared.servers.load().by_slug(slug_of(name)?).cloned()
    }
}

impl Unavailable {
    /// Why a server is unavailable; none where it is up or starting.
    pub(crate) fn of_server(server: &ServerName, state: ServerState) -> Option<Self> {
        let is_down = !state.is_up() && !matches!(state, ServerState::Starting { .. });
        is_down.then(|| Self { server: server.clone(), why: UnavailableReason::Down(state) })
    }

    /// The state of the server, in a word or two.
    pub fn state(&self) -> &'static str {
        match &self.why {
            UnavailableReason::Down(state) => state.word(),
            UnavailableReason::SetAside { .. } => "set aside",
        }
    }

    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<String> {
        let server = &self.server;
        let UnavailableReason::Down(state) = &self.why else { return None };
        Some(match state {
            ServerState::Disabled => format!("enable it with `toolbay enable {server}`"),
            ServerState::Pending => format!("review it with `toolbay approve {server}`"),
            ServerState::LoginRequired { .. } => format!("log in with `toolbay login {server}`"),
            ServerState::AuthRequired { .. } | ServerState::Failed { .. } => {
                match state.failure().and_then(|failure| failure.hint()) {
                    Some(hint) => format!("{hint}; then `toolbay restart {server}`"),
                    None => format!("see `toolbay logs {server}`, then `toolbay restart {server}`"),
                }
            }
            ServerState::Stopped { .. } => format!("start it with `toolbay start {server}`"),
            _ => "try again in a moment".to_owned(),
        })
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        match &self.why {
            UnavailableReason::SetAside { kind, name, reason } => {
                write!(f, "the {kind} `{name}` of server `{server}` is not offered: {reason}")
            }
            UnavailableReason::Down(state) => {
                write!(f, "server `{server}` {}", state.predicate())?;
                if let Some(until) = state.next_attempt() {
                    let wait = until.saturating_duration_since(Instant::now()).as_secs_f32().ceil();
                    write!(f, ", next attempt in {wait} s")?;
                }
                // A login that is missing needs no reason.
                let failure = state.failure().filter(|failure| !failure.is_login_required());
                failure.map_or(Ok(()), |failure| write!(f, ": {}", failure.summary()))
            }
        }
    }
}
