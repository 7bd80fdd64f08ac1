//! Noticing a hub that is reached through its own configuration, directly or through other hubs.
//!
//! Three things are known of hubs to one another. Those **before** a hub, down to itself, are its [`HubChain`]: child
//! processes get it in their environment, servers in `_meta` of `initialize` and `server/discover`. Those **behind** a hub
//! are its [`HubsBehind`]: a hub that names its own chain gets them in the `_meta` of the response, and again with every
//! list, because hubs may join later. A hub that finds one of its own chain behind a server refuses that server.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use toolbay_protocol::{ObjectBuilder, Response, meta, model::Item};

/// How many hubs may stand behind each other.
pub const MAX_HUBS: usize = 8;
/// How many ids are read; more are not sent by hubs that keep to [`MAX_HUBS`].
const MAX_IDS: usize = 64;
const MAX_ID: usize = 64;

/// The hubs through which servers of this one are reached: those before it, and itself at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubChain {
    /// Invariant: never empty.
    ids: Arc<[String]>,
}

/// The hubs that a server consists of: itself first, then those behind it. Empty for a server that is no hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubsBehind {
    /// Their ids.
    pub ids: Vec<String>,
    /// How many stand behind each other at most, the first included.
    pub depth: usize,
}

impl HubChain {
    /// The variable that names the hubs through which a process was started.
    pub const VARIABLE: &str = "TOOLBAY_HUBS";
    /// The header that names the hubs through which a request comes.
    pub const HEADER: &str = "toolbay-via";

    /// A hub after those that `before` names, as [`Display`](fmt::Display) writes them. What cannot be an id is left out.
    pub fn new(before: &str, id: &str) -> Self {
        let before = before.split(',').filter(|id| is_id(id)).take(MAX_IDS);
        Self { ids: before.chain([id]).map(str::to_owned).collect() }
    }

    /// The hubs before this one.
    pub fn before(&self) -> &[String] {
        &self.ids[..self.ids.len() - 1]
    }

    /// This hub.
    pub fn id(&self) -> &str {
        &self.ids[self.ids.len() - 1]
    }

    /// This hub, and what its servers consist of.
    pub fn behind<'a>(&self, servers: impl IntoIterator<Item = &'a HubsBehind>) -> HubsBehind {
        let mut all = HubsBehind { ids: vec![self.id().to_owned()], depth: 1 };
        for server in servers {
            all.depth = all.depth.max(server.depth.saturating_add(1));
            for id in &server.ids {
                if all.ids.len() < MAX_IDS && !all.ids.contains(id) {
                    all.ids.push(id.clone());
                }
            }
        }
        all
    }

    /// Why a server that consists of these hubs is refused, if it is.
    pub fn refusal(&self, server: &HubsBehind) -> Option<String> {
        let hubs = self.ids.len().saturating_add(server.depth);
        match server.ids.iter().position(|id| self.ids.contains(id)) {
            Some(0) if server.ids[0] == self.id() => Some("it is this hub itself".to_owned()),
            Some(_) => Some("it leads back to this hub, through other hubs".to_owned()),
            None if hubs > MAX_HUBS => {
                Some(format!("with it, {hubs} hubs would be chained; at most {MAX_HUBS} may be"))
            }
            None => None,
        }
    }

    /// The field of `_meta` that requests the hubs behind a server.
    pub(crate) fn add_to(&self, meta: ObjectBuilder) -> ObjectBuilder {
        meta.string(meta::VIA, &self.to_string())
    }
}

impl fmt::Display for HubChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ids.join(","))
    }
}

impl HubsBehind {
    /// What a server says of itself in the `_meta` of a result.
    pub(crate) fn of(response: &Response) -> Self {
        let meta = response.result_field("_meta").map(|span| response.text.slice(span.range()));
        let hubs = meta.and_then(|text| Item::parse(text).ok());
        let hubs = hubs.and_then(|item| serde_json::from_str::<Self>(item.raw(meta::HUBS)?).ok());
        let mut hubs = hubs.unwrap_or_default();
        hubs.ids.retain(|id| is_id(id));
        hubs.ids.truncate(MAX_IDS);
        hubs
    }

    /// Whether it is no hub.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Only what can be written anywhere as it is.
fn is_id(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.len() <= MAX_ID && text.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hubs(ids: &[&str], depth: usize) -> HubsBehind {
        HubsBehind { ids: ids.iter().map(|id| (*id).to_owned()).collect(), depth }
    }

    #[test]
    fn a_chain_is_read_as_it_is_written() {
        let chain = HubChain::new("a-1,b,,no\"id,", "c");
        assert_eq!((chain.to_string().as_str(), chain.id()), ("a-1,b,c", "c"));
        assert_eq!(HubChain::new(&chain.to_string(), "d").before(), ["a-1", "b", "c"]);
    }

    #[test]
    fn a_hub_refuses_itself_behind_any_hub_and_chains_that_are_too_long() {
        let chain = HubChain::new("a", "b");
        assert_eq!(chain.refusal(&HubsBehind::default()), None);
        assert_eq!(chain.refusal(&hubs(&["c", "d"], 2)), None);
        assert!(chain.refusal(&hubs(&["b"], 1)).unwrap().contains("itself"));
        assert!(chain.refusal(&hubs(&["a"], 1)).unwrap().contains("leads back"));
        assert!(chain.refusal(&hubs(&["c", "b"], 2)).unwrap().contains("leads back"));
        assert_eq!(chain.refusal(&hubs(&["c"], 6)), None);
        assert!(chain.refusal(&hubs(&["c"], 7)).unwrap().contains("9 hubs"));
        assert_eq!(chain.behind([&hubs(&["c", "d"], 2), &hubs(&["d"], 1)]), hubs(&["b", "c", "d"], 3));
    }
}
