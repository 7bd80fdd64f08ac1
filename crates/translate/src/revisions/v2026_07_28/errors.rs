//! Error codes, and the error that became a question.

use bytes::Bytes;
use toolbay_protocol::{ErrorCode, Outcome, Response, method};

use crate::{
    input_required::{MAY_ASK, url_elicitations},
    json::Object,
    revisions::{v2025_11_25::page_as_plain_error, with_outcome},
};

pub(super) fn for_older(response: &Response, asked: &str) -> Option<Bytes> {
    let error = response.error()?;
    let names_uri = || {
        let data = error.data.as_ref().and_then(|data| Object::parse(data.get()));
        data.is_some_and(|data| data.string("uri").is_some())
    };
    let code = match error.code {
        ErrorCode::INVALID_PARAMS if asked == method::RESOURCES_READ && names_uri() => {
            ErrorCode::RESOURCE_NOT_FOUND
        }
        ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_CLIENT_CAPABILITY => ErrorCode::INVALID_REQUEST,
        // What the handshake said of a version that nobody speaks.
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => ErrorCode::INVALID_PARAMS,
        _ => return None,
    };
    with_code(response, code)
}

pub(super) fn for_newer(response: &Response, asked: &str) -> Option<Bytes> {
    match response.error()?.code {
        ErrorCode::RESOURCE_NOT_FOUND => with_code(response, ErrorCode::INVALID_PARAMS),
        ErrorCode::URL_ELICITATION_REQUIRED => {
            let asks = url_elicitations(response).filter(|_| MAY_ASK.contains(&asked));
            match (asks, &response.id) {
                (Some(asks), Some(id)) => Some(toolbay_protocol::result(id, &asks.to_result())),
                _ => page_as_plain_error(response),
            }
        }
        _ => None,
    }
}

/// The error under another code; message and data stay.
fn with_code(response: &Response, code: ErrorCode) -> Option<Bytes> {
    let Outcome::Error { span } = response.outcome else { return None };
    let mut error = Object::parse(response.raw(span))?;
    error.set("code", code.to_string());
    Some(with_outcome(response, &error.text()))
}
