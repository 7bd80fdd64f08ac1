//! How many of the tools a client is listed, and why.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use toolbay_access::Access;
use toolbay_host::{CatalogKind, Host, ListedTool};
use toolbay_policy::{Exposure, Pattern, Profile};
use toolbay_protocol::{estimated_tokens, model::Item};

use super::known_clients;
use crate::{gateway::Gateway, request::client::RequestClient};

/// How many tokens definitions may take before `auto` hides tools.
const DEFAULT_BUDGET: usize = 20_000;

/// Which tools a single client is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientExposure {
    /// As any client.
    Mode(Exposure),
    /// All of them, with hints for a client that defers tools by itself.
    Defer,
}

/// What tools clients are listed.
#[derive(Debug, Clone)]
pub struct ExposureOptions {
    /// For clients that nothing else is said of.
    pub mode: Exposure,
    /// By the name in `clientInfo`. Clients of modern revisions are not told apart by it: their lists must depend on nothing but
    /// the endpoint and the authorization.
    pub clients: BTreeMap<String, ClientExposure>,
    /// The tools that are listed in any case: `github__get_*`, or `get_*` for the tools of any server.
    pub always_listed: Vec<Pattern>,
    /// How many tokens definitions may take in mode `auto`.
    pub budget: usize,
}

/// What clients are listed of which nothing else is known.
#[derive(Debug, Clone)]
pub struct ExposureReport {
    pub mode: Exposure,
    /// How many tokens definitions may take in mode `auto`.
    pub budget: usize,
    /// How many tools of servers are listed.
    pub listed: usize,
    /// How many are not.
    pub hidden: usize,
    /// Why they are not.
    pub reason: Option<String>,
    /// The clients that are listed all tools in mode `auto`.
    pub deferring_clients: Vec<String>,
}

/// What one client is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listing {
    Everything,
    /// Everything, with hints.
    Deferred,
    Search(HiddenBecause),
}

/// Why tools are not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HiddenBecause {
    /// It is configured so.
    Configured,
    /// The definitions take so many tokens.
    Budget { tokens: usize, budget: usize },
    /// The client takes so many tools.
    ClientLimit { client: String, limit: usize },
}

impl fmt::Display for HiddenBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured => f.write_str("the exposure of tools is `search`"),
            Self::Budget { tokens, budget } => {
                write!(f, "the definitions take about {tokens} tokens, more than {budget}")
            }
            Self::ClientLimit { client, limit } => write!(f, "{client} takes no more than {limit} tools"),
        }
    }
}

impl Default for ExposureOptions {
    fn default() -> Self {
        Self {
            mode: Exposure::All,
            clients: BTreeMap::new(),
            always_listed: Vec::new(),
            budget: DEFAULT_BUDGET,
        }
    }
}

impl ExposureOptions {
    /// Whether any client may be listed something else than all tools as they are.
    pub(crate) fn may_hide_tools(&self) -> bool {
        let is_all = |mode: &ClientExposure| *mode == ClientExposure::Mode(Exposure::All);
        self.mode != Exposure::All || !self.clients.values().all(is_all)
    }

    /// The same with what a profile says, which goes before the exceptions for single clients.
    fn with_profile(&self, profile: &Profile) -> Self {
        let mut options = self.clone();
        if let Some(mode) = profile.exposure {
            options.mode = mode;
            options.clients.clear();
        }
        if let Some(budget) = profile.budget {
            options.budget = usize::try_from(budget).unwrap_or(usize::MAX);
        }
        let patterns = profile.always_listed.iter().filter_map(|pattern| pattern.as_str().parse().ok());
        options.always_listed.extend(patterns);
        options
    }

    /// Whether a tool is listed in any case. Patterns with a prefix mean the name that clients see, others that of its server.
    pub(crate) fn is_always_listed(&self, tool: &ListedTool) -> bool {
        let matches = |pattern: &Pattern| match pattern.as_str().contains("__") {
            true => pattern.matches(&tool.name),
            false => pattern.matches(&tool.bare_name),
        };
        self.always_listed.iter().any(matches)
    }

    /// The mode of a client, by what it calls itself, if that counts.
    fn mode_of(&self, name: Option<&str>, of_connection: Option<Exposure>) -> ClientExposure {
        let of_client = name.and_then(|name| self.clients.get(name).copied());
        of_connection.map(ClientExposure::Mode).or(of_client).unwrap_or(ClientExposure::Mode(self.mode))
    }

    /// What a client is listed of the tools of a host.
    pub(crate) fn listing(
        &self,
        host: &Host,
        name: Option<&str>,
        of_connection: Option<Exposure>,
    ) -> Listing {
        let mode = match self.mode_of(name, of_connection) {
            ClientExposure::Mode(mode) => mode,
            ClientExposure::Defer => return Listing::Deferred,
        };
        match mode {
            Exposure::All => Listing::Everything,
            Exposure::Search => Listing::Search(HiddenBecause::Configured),
            Exposure::Auto if name.is_some_and(known_clients::defers_tools) => Listing::Deferred,
            Exposure::Auto => {
                let table = host.table();
                let (budget, tokens) = (self.budget, estimated_tokens(table.tool_bytes(None)));
                let limit = name.and_then(known_clients::tool_limit);
                match (name, limit) {
                    _ if tokens > budget => Listing::Search(HiddenBecause::Budget { tokens, budget }),
                    (Some(name), Some(limit)) if table.count(CatalogKind::Tools) > limit => {
                        let client = name.to_owned();
                        Listing::Search(HiddenBecause::ClientLimit { client, limit })
                    }
                    _ => Listing::Everything,
                }
            }
        }
    }
}

impl Gateway {
    /// What clients are listed of which nothing else is known.
    pub fn exposure(&self) -> ExposureReport {
        let options = &self.hub_tools.exposure;
        let table = self.host.table();
        let tools = table.listed_tools();
        let (hidden, reason) = match options.listing(&self.host, None, None) {
            Listing::Search(why) => {
                let hidden = tools.iter().filter(|tool| !options.is_always_listed(tool)).count();
                (hidden, Some(why.to_string()))
            }
            Listing::Everything | Listing::Deferred => (0, None),
        };
        let known = known_clients::deferring().iter().map(|client| (*client).to_owned());
        let known = known.filter(|client| !options.clients.contains_key(client));
        let set = options.clients.iter().filter(|(_, mode)| **mode == ClientExposure::Defer);
        ExposureReport {
            mode: options.mode,
            budget: options.budget,
            listed: tools.len() - hidden,
            hidden,
            reason,
            deferring_clients: known.chain(set.map(|(client, _)| client.clone())).collect(),
        }
    }

    /// What a client is listed of the tools.
    pub(crate) fn listing_for(&self, client: &RequestClient) -> Listing {
        let name = client.session.as_ref().and_then(|_| client_name(client.identity.info()));
        self.exposure_of(&client.access).listing(&client.host, name.as_deref(), client.exposure)
    }

    /// Whether tools are, or may become, hidden from a client.
    pub(crate) fn may_hide_tools_of(&self, client: &RequestClient) -> bool {
        let name = client.session.as_ref().and_then(|_| client_name(client.identity.info()));
        let mode = self.exposure_of(&client.access).mode_of(name.as_deref(), client.exposure);
        matches!(mode, ClientExposure::Mode(Exposure::Search | Exposure::Auto))
    }

    /// What clients of a caller are listed: as its profile says, if it has one.
    pub(crate) fn exposure_of(&self, access: &Access) -> Cow<'_, ExposureOptions> {
        match self.profile(access) {
            Some(profile) => Cow::Owned(self.hub_tools.exposure.with_profile(&profile)),
            None => Cow::Borrowed(&self.hub_tools.exposure),
        }
    }
}

/// What a client calls itself; `info` is its `clientInfo` as JSON text.
pub(crate) fn client_name(info: &str) -> Option<String> {
    Some(Item::parse(info.to_owned().into()).ok()?.string("name")?.into_owned())
}
