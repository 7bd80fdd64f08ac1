//! Waiting for servers that are starting.
//!
//! A call that names a tool of a starting server waits for it: its client knows the name from an earlier run. Lists wait only once,
//! right after the start of a hub, and only for servers without a cached catalog.

use toolbay_protocol::{Request, method};
use toolbay_upstream::{ServerHandle, UpstreamState, UpstreamStatus};

use crate::Host;

impl Host {
    /// Waits until the servers that may own what a request names are ready, or have failed. There is nothing to
    /// wait for when the name is known, or when no starting server could own it.
    pub fn arrival(&self, request: &Request) -> Option<impl Future<Output = ()> + Send + use<>> {
        let call = &request.call;
        let field = if call.method() == method::RESOURCES_READ { "uri" } else { "name" };
        self.arrival_of(call.method(), &call.string_param(field)?)
    }

    /// As [`Host::arrival`], for a request with this method and the name or URI that it would have.
    pub fn arrival_of(&self, method: &str, name: &str) -> Option<impl Future<Output = ()> + Send + use<>> {
        let awaited: Vec<ServerHandle> = match method {
            method::TOOLS_CALL => self.owners_to_be(name, self.peek_table().tool(name).is_some()),
            method::PROMPTS_GET => self.owners_to_be(name, self.peek_table().prompt(name).is_some()),
            method::RESOURCES_READ if self.peek_table().resource(name).is_err() => self.starting().collect(),
            _ => return None,
        };
        if awaited.is_empty() {
            return None;
        }
        let host = self.clone();
        Some(async move { host.settled_for_a_while(&awaited).await })
    }

    /// Waits until each server that is starting and has no cached catalog is ready, failed, or waits for approval or login.
    /// There is nothing to wait for when every starting server has a cached catalog: lists have its offers already.
    pub fn first_catalogs(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let registry = self.shared.servers.load();
        let uncached = registry.servers.iter().filter(|entry| entry.runner.kept.is_none());
        let awaited: Vec<ServerHandle> = uncached
            .map(|entry| entry.handle().clone())
            .filter(|server| is_starting(&server.status().borrow()))
            .collect();
        let host = self.clone();
        (!awaited.is_empty()).then_some(async move { host.settled_among(&awaited).await })
    }

    /// Waits for servers that are starting, but no longer than the idle timeout of a call; then the request goes on with
    /// what there is.
    pub async fn settled_for_a_while(&self, awaited: &[ServerHandle]) {
        if let Some(limit) = awaited.iter().map(|server| server.timeouts().idle).max() {
            let _ = tokio::time::timeout(limit, self.settled_among(awaited)).await;
        }
    }

    /// Starting servers that may own a name which no server owns yet.
    fn owners_to_be(&self, name: &str, is_known: bool) -> Vec<ServerHandle> {
        if is_known {
            return Vec::new();
        }
        match name.split_once("__").and_then(|(slug, _)| self.by_slug(slug)) {
            Some(owner) => self.starting().filter(|server| server.name() == owner.name()).collect(),
            None if self.has_bare_names() => self.starting().collect(),
            None => Vec::new(),
        }
    }

    pub(crate) fn starting(&self) -> impl Iterator<Item = ServerHandle> {
        self.servers().into_iter().filter(|server| is_starting(&server.status().borrow()))
    }
}

pub(crate) fn is_starting(status: &UpstreamStatus) -> bool {
    matches!(status.state, UpstreamState::Starting { .. })
}
