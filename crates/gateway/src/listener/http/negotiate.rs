//! What a client sends and can read.

use http::{HeaderMap, StatusCode, header};
use toolbay_protocol::{ErrorCode, ErrorObject};

use super::{EarlyResponse, early};
use crate::listener::headers::single;

/// Whether a client can read a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    Streams,
    Json,
}

const JSON: &str = "application/json";
/// How nearly every client says that it reads both.
const JSON_OR_STREAM: &str = "application/json, text/event-stream";

/// Only JSON is taken: a form or a text is what a page could send without asking.
pub(super) fn check_content_type(headers: &HeaderMap) -> EarlyResponse<()> {
    // Two of them, and whoever stands between us and the client may have looked at the other.
    let value = single(headers, &header::CONTENT_TYPE).ok().flatten().unwrap_or_default();
    if value == JSON {
        return Ok(());
    }
    let kind = value.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(JSON) {
        return Ok(());
    }
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Content-Type must be application/json");
    early(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error)
}

/// What the client can read. A client that says nothing reads JSON.
pub(super) fn accepted(headers: &HeaderMap) -> EarlyResponse<Accepts> {
    let mut any = false;
    let mut json = false;
    let mut accepts = Accepts::Json;
    for value in headers.get_all(header::ACCEPT) {
        if value == JSON_OR_STREAM {
            return Ok(Accepts::Streams);
        }
        for part in value.to_str().unwrap_or_default().split(',') {
            any = true;
            match part.split(';').next().unwrap_or_default().trim() {
                "text/event-stream" => accepts = Accepts::Streams,
                JSON | "application/*" | "*/*" => json = true,
                _ => {}
            }
        }
    }
    if any && !json && accepts == Accepts::Json {
        let error = ErrorObject::new(
            ErrorCode::INVALID_REQUEST,
            "the client must accept application/json and text/event-stream",
        );
        return early(StatusCode::NOT_ACCEPTABLE, None, &error);
    }
    Ok(accepts)
}
