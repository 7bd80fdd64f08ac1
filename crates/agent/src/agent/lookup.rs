//! Finding who has what is named, and waiting for it.

use serde_json::{Map, Value};
use toolbay_host::{ServerHandle, ServerStatus};
use toolbay_protocol::ServerName;

use super::Agent;
use crate::{Error, call::request};

impl Agent {
    /// Waits for servers on their way up that may bring what is named.
    pub(super) async fn arrived(&self, asked: &str, params: &Map<String, Value>) {
        if let Some(request) = request(asked, params)
            && let Some(arrival) = self.host.arrival(&request)
        {
            arrival.await;
        }
    }

    /// The name that the host has for a tool of a server; a server on its way up is waited for.
    pub(super) async fn exposed(&self, server: &str, tool: &str) -> Result<String, Error> {
        let find = || self.host.table().tool_of(server, tool).map(str::to_owned);
        if let Some(name) = find() {
            return Ok(name);
        }
        let Some(handle) = self.host.server(server) else {
            let servers = self.host.servers();
            let known = servers.iter().map(ServerHandle::name).map(ServerName::to_string).collect();
            return Err(Error::ServerNotFound { server: server.to_owned(), known });
        };
        self.host.settled_for_a_while(&[handle]).await;
        if let Some(name) = find() {
            return Ok(name);
        }
        Err(self.host.status(server).and_then(not_up).unwrap_or_else(|| Error::ToolNotFound {
            name: format!("{tool} of {server}"),
            similar: owned(&self.host.table().similar_tools(tool)),
        }))
    }

    pub(super) fn owner_of_prompt(&self, name: &str) -> Result<ServerName, Error> {
        let table = self.host.table();
        let route = table.prompt(name).ok_or_else(|| Error::PromptNotFound {
            name: name.to_owned(),
            similar: owned(&table.similar_prompts(name)),
        })?;
        Ok(route.server.name().clone())
    }

    /// The server that has a tool, and whether it does it only as a task.
    pub(super) fn owner_of_tool(&self, name: &str) -> Result<(ServerName, bool), Error> {
        let table = self.host.table();
        if let Some(route) = table.tool(name) {
            return Ok((route.server.name().clone(), route.only_as_task));
        }
        let server = name.split_once("__").and_then(|(slug, _)| self.host.by_slug(slug));
        let status = server.and_then(|server| self.host.status(server.name().as_str()));
        Err(status.and_then(not_up).unwrap_or_else(|| Error::ToolNotFound {
            name: name.to_owned(),
            similar: owned(&table.similar_tools(name)),
        }))
    }
}

/// Why a server offers nothing, if it is down.
fn not_up(status: ServerStatus) -> Option<Error> {
    let ServerStatus { name: server, state, .. } = status;
    match state.failure().cloned() {
        Some(failure) => Some(Error::Init { server, failure }),
        None if !state.is_offered() => Some(Error::NotRunning { server, state }),
        None => None,
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
