//! The hub's own tools.
//!
//! Which of them a client is listed, their definitions, and the answers to calls of them. To add one: a variant of [`HubTool`] with
//! its name and definition, when it is listed ([`HubTools::listed_for`]), and how it answers ([`Gateway::hub_tool_call`]).
//!
//! Their names have no prefix. Where a client is listed one of them, the name is the hub's: a tool of a server with the same name,
//! which `--naming none` allows, is left out of that client's list, stays reachable through `call_tool`, and `status` says so.

mod call_tool;
mod catalog_lines;
pub(crate) mod exposure;
mod get_tool_details;
mod known_clients;
mod list;
mod read_result;
pub(crate) mod run_code;
mod search_tools;
mod signature;

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use toolbay_code::CodeRunner;
use toolbay_host::RouteTable;
use toolbay_policy::{Exposure, PolicySet, Profile};
use toolbay_protocol::{MethodCall, ObjectBuilder, Request, Tier, method};

use self::exposure::{ExposureOptions, Listing};
use crate::{
    gateway::{Gateway, GatewayOptions},
    request::{
        call::{FinalResponse, complete},
        client::RequestClient,
    },
};

/// A tool of the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HubTool {
    SearchTools,
    GetToolDetails,
    /// Calls a tool of that tier.
    CallTool(Tier),
    RunCode,
    ReadResult,
}

/// What a client is answered about the tools of servers.
const SEARCH: [HubTool; 5] = [
    HubTool::SearchTools,
    HubTool::GetToolDetails,
    HubTool::CallTool(Tier::Read),
    HubTool::CallTool(Tier::Write),
    HubTool::CallTool(Tier::Destructive),
];

impl HubTool {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = {
        let [search, details, read, write, destructive] = SEARCH;
        [search, details, read, write, destructive, Self::RunCode, Self::ReadResult]
    };

    /// The name by which clients call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SearchTools => "search_tools",
            Self::GetToolDetails => "get_tool_details",
            Self::CallTool(Tier::Read) => "call_tool",
            Self::CallTool(Tier::Write) => "call_tool_write",
            Self::CallTool(Tier::Destructive) => "call_tool_destructive",
            Self::RunCode => "run_code",
            Self::ReadResult => "read_result",
        }
    }

    /// Its definition, as it is listed. Every client pays for it, so that all of them together take at most 600 tokens.
    pub(crate) fn definition(self) -> &'static str {
        match self {
            Self::SearchTools => search_tools::DEFINITION,
            Self::GetToolDetails => get_tool_details::DEFINITION,
            Self::CallTool(tier) => call_tool::definition(tier),
            Self::RunCode => run_code::DEFINITION,
            Self::ReadResult => read_result::DEFINITION,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}

/// What the hub does with its own tools.
#[derive(Debug)]
pub(crate) struct HubTools {
    pub(crate) exposure: ExposureOptions,
    /// Runs code of clients, where that is wanted.
    code: Option<Arc<CodeRunner>>,
    /// Whether any client may be listed one of them. While it is not set, calls cost nothing more.
    is_on: AtomicBool,
    /// What was logged last about hidden tools.
    logged: Mutex<String>,
}

/// How a call to one of the hub's tools goes on.
pub(crate) enum HubToolCall {
    /// As this request, to a server.
    Forwarded(Arc<Request>),
    /// With this response.
    Answered(FinalResponse),
    /// With this response, after some work.
    Soon(Pin<Box<dyn Future<Output = FinalResponse> + Send>>),
    /// By code that this runs.
    Code(Arc<CodeRunner>),
}

impl HubTools {
    pub(crate) fn new(options: &GatewayOptions) -> Self {
        let exposure = options.exposure.clone();
        let code = options.code.clone();
        let is_on = exposure.may_hide_tools() || code.is_some() || hides_tools(&options.policy);
        Self { exposure, code, is_on: AtomicBool::new(is_on), logged: Mutex::default() }
    }

    /// Whether any client may be listed a tool of the hub.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Takes notice of other profiles.
    pub(crate) fn follow(&self, policy: &PolicySet) {
        if hides_tools(policy) {
            self.switch_on();
        }
    }

    /// From now on some client may be listed tools of the hub.
    pub(crate) fn switch_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// The tools of the hub that a client is listed, in the order of the list.
    fn listed_for(&self, listing: &Listing, limits_results: bool) -> Vec<HubTool> {
        let mut listed = match listing {
            Listing::Search(_) => SEARCH.to_vec(),
            Listing::Everything | Listing::Deferred => Vec::new(),
        };
        listed.extend(self.code.as_ref().map(|_| HubTool::RunCode));
        listed.extend(limits_results.then_some(HubTool::ReadResult));
        listed
    }

    /// The tool of the hub that a request calls.
    fn called(&self, gateway: &Gateway, client: &RequestClient, call: &MethodCall) -> Option<HubTool> {
        if !self.is_on() || call.method() != method::TOOLS_CALL {
            return None;
        }
        let tool = HubTool::of_name(&call.string_param("name")?)?;
        let (listing, table) = (gateway.listing_for(client), client.host.table());
        // A client may still know what is not listed any more; what a server has under the name goes before that.
        let is_listed = self.listed_for(&listing, gateway.limits_results(&table)).contains(&tool);
        let may_know = || match tool {
            HubTool::RunCode => false,
            HubTool::ReadResult => true,
            _ => gateway.may_hide_tools_of(client),
        };
        (is_listed || (table.tool(tool.name()).is_none() && may_know())).then_some(tool)
    }
}

impl Gateway {
    /// Whether results of some tools are cut.
    fn limits_results(&self, table: &RouteTable) -> bool {
        self.options.results.is_some() && table.limits_results()
    }

    /// Answers a call to a tool of the hub; none where it is for a server as it stands.
    pub(crate) fn hub_tool_call(
        self: &Arc<Self>,
        client: &RequestClient,
        request: &Arc<Request>,
    ) -> Option<HubToolCall> {
        let tool = self.hub_tools.called(self, client, &request.call)?;
        Some(match tool {
            HubTool::SearchTools => search_tools::answer(self, client, request),
            HubTool::GetToolDetails => HubToolCall::Answered(get_tool_details::answer(client, request)),
            HubTool::CallTool(tier) => call_tool::answer(client, request, tier),
            HubTool::RunCode => HubToolCall::Code(self.hub_tools.code.clone()?),
            HubTool::ReadResult => read_result::answer(self, client, request),
        })
    }

    /// The request to a server that stands in a call to a tool of the hub.
    pub(crate) fn request_within(&self, client: &RequestClient, request: &Request) -> Option<Arc<Request>> {
        match self.hub_tools.called(self, client, &request.call)? {
            HubTool::CallTool(_) => call_tool::forwarded(request).ok(),
            HubTool::SearchTools | HubTool::GetToolDetails | HubTool::RunCode | HubTool::ReadResult => None,
        }
    }
}

/// Whether a profile may hide tools.
fn hides_tools(policy: &PolicySet) -> bool {
    let hides = |profile: &Arc<Profile>| profile.exposure.is_some_and(|exposure| exposure != Exposure::All);
    policy.profiles().iter().any(hides)
}

/// A result of one of the hub's tools.
struct ToolAnswer {
    text: String,
    /// JSON text.
    structured: Option<String>,
    is_error: bool,
}

impl ToolAnswer {
    fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), structured: None, is_error: true }
    }

    fn response(&self, client: &RequestClient, request: &Request) -> FinalResponse {
        let content = ObjectBuilder::new().string("type", "text").string("text", &self.text).finish();
        let mut result = ObjectBuilder::new().array("content", [content.as_str()]);
        if let Some(structured) = &self.structured {
            result = result.raw("structuredContent", structured);
        }
        if self.is_error {
            result = result.raw("isError", "true");
        }
        FinalResponse::result(&request.id, &complete(&result.finish(), client.revision))
    }
}

#[cfg(test)]
mod tests {
    use toolbay_protocol::{estimated_tokens, model::Tool};

    use super::*;

    #[test]
    fn the_definitions_are_annotated_and_take_at_most_600_tokens() {
        let mut bytes = 0;
        for tool in HubTool::ALL {
            let definition = Tool::parse(tool.definition().into()).unwrap();
            assert_eq!(definition.name(), tool.name());
            assert!(definition.item().raw("annotations").unwrap().contains("Hint"), "{tool:?}");
            bytes += tool.definition().len();
        }
        assert!(estimated_tokens(bytes) <= 600, "{} tokens", estimated_tokens(bytes));
    }
}
