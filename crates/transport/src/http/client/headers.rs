//! Headers that say again what a message says.

use std::{collections::HashMap, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::RwLock;
use toolbay_protocol::{
    MethodCall, decode_string,
    header_params::{HeaderParam, encode_header_value},
    meta, method,
};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Adds what a modern message must repeat in headers.
pub(super) fn mirror(call: &MethodCall, rules: &HeaderRules, headers: &mut HeaderMap) {
    let version = call.meta(meta::PROTOCOL_VERSION).and_then(|span| decode_string(call.bytes(span)));
    let Some(version) = version else { return };
    headers.insert(VERSION, value(&version));
    headers.insert(METHOD, value(call.method()));
    let name = match call.method() {
        method::TOOLS_CALL | method::PROMPTS_GET => call.string_param("name"),
        method::RESOURCES_READ => call.string_param("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => call.string_param("taskId"),
        _ => None,
    };
    if let Some(name) = &name {
        headers.insert(NAME, value(name));
    }
    if call.method() == method::TOOLS_CALL
        && let (Some(name), Some(arguments)) = (&name, call.param("arguments"))
    {
        for (header, text) in rules.apply(name, call.bytes(arguments)) {
            headers.insert(header, value(&text));
        }
    }
}

/// A text as a header can carry it.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(&encode_header_value(text)).expect("encoded, it is plain ASCII")
}

/// The mirrored parameters of all tools of a server, by name. `upstream` keeps it up to date.
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
