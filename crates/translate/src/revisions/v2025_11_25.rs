//! 2025-06-18 → 2025-11-25: more kinds of forms, pages to visit, tools and several blocks in sampling, tasks.
//!
//! Icons, descriptions of implementations and `execution` of tools are overlooked by older readers.

mod form;
mod sampling;

use bytes::Bytes;
use toolbay_protocol::{ErrorCode, Response, Revision, encode_string, method};

use super::{RevisionStep, with_outcome};
use crate::{
    input_required::url_elicitations,
    json::Object,
    related,
    server_request::{ElicitationMode, UnsupportedServerRequest},
};

pub(super) struct Changes;

/// Tasks were an experiment of this revision alone; who does not know them is to answer as if nobody had asked.
pub(super) const TASK: &str = "task";

fn lacks(what: &'static str) -> UnsupportedServerRequest {
    UnsupportedServerRequest { what, revision: Revision::V2025_06_18 }
}

impl RevisionStep for Changes {
    fn params_unknown_to_older(&self, method: &str) -> &'static [&'static str] {
        if method == method::TOOLS_CALL { &[TASK] } else { &[] }
    }

    fn response_for_older(&self, response: &Response, _: &str) -> Option<Bytes> {
        page_as_plain_error(response).or_else(|| related::cut(response))
    }

    fn server_request_for_older(
        &self,
        method: &str,
        params: &mut Object<'_>,
        _: &str,
    ) -> Result<(), UnsupportedServerRequest> {
        params.remove(TASK);
        related::remove(params);
        match method {
            method::ELICIT => match ElicitationMode::of(params) {
                ElicitationMode::Form => {
                    params.remove("mode");
                    form::for_older(params)
                }
                ElicitationMode::Url => Err(lacks("elicitation in URL mode")),
                ElicitationMode::Unknown => Err(lacks("such mode of elicitation")),
            },
            method::SAMPLE => sampling::server_request_for_older(params),
            _ => Ok(()),
        }
    }

    fn client_response_for_older(&self, method: &str, answer: &mut Object<'_>) {
        if method == method::SAMPLE {
            answer.change("content", sampling::one_block);
        }
    }
}

/// "Visit a page first" for those who have no code for it: an error that says so in words.
pub(super) fn page_as_plain_error(response: &Response) -> Option<Bytes> {
    let error = response.error().filter(|error| error.code == ErrorCode::URL_ELICITATION_REQUIRED)?;
    let mut message = error.message;
    for request in url_elicitations(response).map(|asked| asked.requests).unwrap_or_default() {
        let params = request.params.as_deref().and_then(Object::parse);
        if let Some(url) = params.as_ref().and_then(|params| params.string("url")) {
            message.push_str(&format!(" Visit {url} and try again."));
        }
    }
    let toolbay_protocol::Outcome::Error { span } = response.outcome else { return None };
    let mut error = Object::parse(response.raw(span))?;
    error.set("code", ErrorCode::INTERNAL_ERROR.to_string());
    error.set("message", encode_string(&message));
    Some(with_outcome(response, &error.text()))
}
