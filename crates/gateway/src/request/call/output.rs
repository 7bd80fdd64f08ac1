//! What is done with a result before its client gets it: checks by the output schema, and limits.

use std::sync::Arc;

use toolbay_host::{CallResponse, OutputCheck, OutputRules};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, ObjectBuilder, Response};
use toolbay_results::{CutOptions, LazyResultStore, cut};

use super::{CallRun, OrResponse, complete};

/// Longer messages are checked on another thread.
const CHECKED_HERE: usize = 16 * 1024;

impl CallRun {
    /// Applies the rules of the tool to its result.
    pub(super) async fn with_output_rules(&self, answered: CallResponse) -> OrResponse<CallResponse> {
        let Some(rules) = self.output.clone() else { return Ok(answered) };
        if !is_result_of_tool(&answered.response) {
            return Ok(answered);
        }
        // Without a place for the rest, nothing is cut.
        let limit = rules.max_result.zip(self.gateway.options.results.clone());
        let length = answered.response.result_text().map_or(0, str::len);
        let limit = limit.filter(|(limit, _)| length > *limit);
        if limit.is_none() && !rules.checks() {
            return Ok(answered);
        }
        if limit.is_some() {
            // Clients read the rest with a tool of the hub, whether or not they have seen a list.
            self.gateway.hub_tools.switch_on();
        }
        let applied = Applied {
            rules,
            limit,
            principal: self.client.principal().to_owned(),
            has_resource_links: self.client.revision.features().has_resource_links(),
        };
        if applied.limit.is_none() && length <= CHECKED_HERE {
            return Ok(applied.to(answered));
        }
        let done = tokio::task::spawn_blocking(move || applied.to(answered)).await;
        done.map_err(|_| {
            let message = "the result of the tool could not be shortened";
            self.failed(&ErrorObject::new(ErrorCode::INTERNAL_ERROR, message))
        })
    }
}

/// Whether a response is what a tool returned, and not a task that the call became.
fn is_result_of_tool(response: &Response) -> bool {
    let is_complete = |span| response.raw(span) == "\"complete\"";
    response.result_text().is_some()
        && response.result_field("task").is_none()
        && response.result_field("resultType").is_none_or(is_complete)
}

/// Rules, and what they need.
struct Applied {
    rules: Arc<OutputRules>,
    /// The limit, where it is exceeded.
    limit: Option<(usize, Arc<LazyResultStore>)>,
    principal: String,
    has_resource_links: bool,
}

impl Applied {
    /// The response that takes the place of another. Blocks, if a limit is exceeded.
    fn to(&self, answered: CallResponse) -> CallResponse {
        let CallResponse { response, revision } = &answered;
        if let OutputCheck::Refused(result) = self.rules.check(response) {
            let mut result = ObjectBuilder::new().fields_of(&complete(&result, *revision));
            if let Some(meta) = response.result_field("_meta") {
                result = result.raw("_meta", response.raw(meta));
            }
            return replaced(&answered, &result.finish());
        }
        let Some((limit, store)) = &self.limit else { return answered };
        let matches = |structured: &[u8]| self.rules.matches(structured);
        let options = CutOptions {
            limit: *limit,
            store,
            principal: &self.principal,
            has_resource_links: self.has_resource_links,
            matches_schema: self.rules.has_schema().then_some(&matches as _),
        };
        match cut(response, &options).map(Message::parse) {
            Some(Ok(Message::Response(response))) => CallResponse { response, revision: *revision },
            _ => answered,
        }
    }
}

/// A response with another result.
fn replaced(answered: &CallResponse, result: &str) -> CallResponse {
    let CallResponse { response, revision } = answered;
    let text = response.id.as_ref().map(|id| toolbay_protocol::result(id, result));
    match text.map(Message::parse) {
        Some(Ok(Message::Response(response))) => CallResponse { response, revision: *revision },
        _ => answered.clone(),
    }
}
