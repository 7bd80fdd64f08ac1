//! What MCP can do, feature by feature, as a client of one revision sees it at a server of another.
//!
//! The server is [`TestServer::demo`](crate::TestServer::demo) of one exact revision, alone or behind a hub. Each
//! feature either works, or lacks on one side; then the error is checked, so that no combination is left out.

mod basics;
mod changes;
mod server_requests;
mod unable;
mod volume;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use toolbay_protocol::Revision;

use crate::harness::{Exchange, Profile, RevisionClient};

/// A client and a server.
pub struct FeatureContext<'a> {
    pub client: &'a mut RevisionClient,
    /// The revision that the server speaks.
    pub server: Revision,
    /// What stands before the names of its tools and prompts.
    pub prefix: &'a str,
    /// Different at each place, for what would otherwise be the same.
    pub tag: &'a str,
    /// Opens another client of the same revision.
    pub open: &'a dyn Fn(Profile) -> Result<RevisionClient>,
}

/// What was seen of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    Works,
    /// The server's revision does not have it: no client can use it.
    ServerLacksIt,
    /// The client's revision does not have it: the server gets an error.
    ClientLacksIt,
}

/// Something that clients and servers do together.
#[derive(Debug, Clone, Copy)]
pub struct Feature {
    pub name: &'static str,
    pub check: fn(&mut FeatureContext<'_>) -> Result<Support>,
}

const fn feature(name: &'static str, see: fn(&mut FeatureContext<'_>) -> Result<Support>) -> Feature {
    Feature { name, check: see }
}

/// All of them. Those that change lists come last: the others need not care.
pub const FEATURES: &[Feature] = &[
    feature("tools", basics::tools),
    feature("content of all kinds", basics::kinds),
    feature("errors", basics::errors),
    feature("progress", basics::progress),
    feature("cancel", basics::cancel),
    feature("resources", basics::resources),
    feature("templates", basics::templates),
    feature("prompts", basics::prompts),
    feature("completion", basics::completion),
    feature("logging", basics::logging),
    feature("elicitation: form", server_requests::form),
    feature("elicitation: several at once", server_requests::several),
    feature("elicitation: several rounds", server_requests::rounds),
    feature("elicitation: declined, cancelled", server_requests::declined),
    feature("elicitation: missing answers", server_requests::missing),
    feature("elicitation: URL", server_requests::url),
    feature("elicitation: URL first", server_requests::visit),
    feature("sampling", server_requests::sampling),
    feature("roots", server_requests::roots),
    feature("server requests of all kinds at once", server_requests::everything),
    feature("server requests of prompts and resources", server_requests::elsewhere),
    feature("server requests answered with an error", server_requests::refused),
    feature("cancel while a server request is open", basics::cancel_while_asked),
    feature("retry without a server request", server_requests::pause),
    feature("a client without capabilities", unable::unable),
    feature("subscriptions", changes::subscriptions),
    feature("list changes", changes::lists),
];

/// What asks more of a transport than of a revision.
pub const VOLUME: &[Feature] =
    &[feature("big payloads", volume::big), feature("64 calls at once", volume::many)];

impl FeatureContext<'_> {
    /// The name of a tool or prompt at this place.
    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Result<Exchange> {
        self.client.call(&self.named(tool), arguments)
    }

    fn text(&mut self, tool: &str, arguments: Value) -> Result<String> {
        self.client.text(&self.named(tool), arguments)
    }

    /// Calls a tool with a progress token.
    fn call_with_token(&mut self, tool: &str, arguments: Value, token: Value) -> Result<Exchange> {
        let name = self.named(tool);
        let params = json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": token } });
        self.client.request("tools/call", params)
    }

    /// Calls a tool that uses what a revision added. Where a side is older, checks the error instead, and
    /// says so.
    fn ask(&mut self, since: Revision, tool: &str, arguments: Value) -> Result<Result<Exchange, Support>> {
        let exchange = self.call(tool, arguments)?;
        let seen = match (self.client.revision() >= since, self.server >= since) {
            (true, true) => return Ok(Ok(exchange)),
            (_, false) => Support::ServerLacksIt,
            (false, true) => Support::ClientLacksIt,
        };
        ensure!(exchange.server_requests.is_empty(), "it got server requests: {exchange:?}");
        let (code, message) = exchange.failure()?;
        if seen == Support::ServerLacksIt {
            ensure!(code == 0 && message.contains("has no `"), "{code} {message}");
        }
        Ok(Err(seen))
    }
}

impl std::fmt::Debug for FeatureContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("client", &self.client)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
