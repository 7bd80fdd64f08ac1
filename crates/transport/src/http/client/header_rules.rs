//! Which arguments of which tools are repeated in headers.

use std::{collections::HashMap, sync::Arc};

use http::HeaderName;
use parking_lot::RwLock;
use toolbay_protocol::header_params::HeaderParam;

/// What all tools of a server want repeated, by name. Whoever knows its tools keeps it up to date.
#[derive(Debug, Default)]
pub struct HeaderRules(RwLock<Arc<HashMap<String, Vec<HeaderParam>>>>);

impl HeaderRules {
    /// Puts other rules in place.
    pub fn replace(&self, rules: HashMap<String, Vec<HeaderParam>>) {
        *self.0.write() = Arc::new(rules);
    }

    /// The headers for a call, with their values.
    pub(super) fn apply(&self, tool: &str, arguments: &[u8]) -> Vec<(HeaderName, String)> {
        let rules = self.0.read().clone();
        let Some(params) = rules.get(tool) else { return Vec::new() };
        let header = |param: &HeaderParam| {
            // Arguments that are ambiguous are for the server to refuse.
            let value = param.value_in(arguments).ok()??;
            Some((param.header_name().parse().ok()?, value.into_owned()))
        };
        params.iter().filter_map(header).collect()
    }
}
