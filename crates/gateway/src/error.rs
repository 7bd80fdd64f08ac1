//! Errors as clients get them. The one place where an error becomes a JSON-RPC error or an HTTP status.

use http::StatusCode;
use serde_json::json;
use toolbay_access::Tier;
use toolbay_host::CallError;
use toolbay_protocol::{ErrorCode, ErrorObject, ParseError, Revision, meta};
use toolbay_transport::http::ReadBodyError;

use crate::{security::principal_usage::LimitReached, session::EnterError};

/// A call that got no response.
pub(crate) fn call_failed(error: &CallError) -> ErrorObject {
    let mut message = error.to_string();
    let hint = error.hint();
    if let Some(hint) = &hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    let data = json!({ "server": error.server().as_str(), "retryable": error.is_retryable(), "hint": hint });
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, message).with_data(&data)
}

/// A text that is no message.
pub(crate) fn malformed(why: &ParseError) -> ErrorObject {
    ErrorObject::new(why.code(), why.to_string())
}

/// A request that cannot run in its session.
pub(crate) fn not_entered(why: EnterError) -> ErrorObject {
    match why {
        EnterError::DuplicateId => {
            ErrorObject::new(ErrorCode::INVALID_REQUEST, "a request with the same id is still running")
        }
        EnterError::TooMany => ErrorObject::new(
            ErrorCode::INTERNAL_ERROR,
            "too many requests or subscriptions of this session; try again later",
        ),
    }
}

/// A principal that takes as much of the hub as it may.
pub(crate) fn limit_reached(limit: &LimitReached) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, limit.to_string())
}

/// A tool that changes more than the caller may.
/// The profile that a client asks for is not there. `known` are the others, for those who may know them.
pub(crate) fn unknown_profile(name: &str, known: Option<&[&str]>) -> ErrorObject {
    let name: String = name.chars().take(64).collect();
    let mut message = format!("there is no profile `{}`", toolbay_protocol::printable::clean(&name));
    match known {
        Some([]) => message.push_str("; none is configured"),
        Some(known) => message.push_str(&format!("; there are: {}", known.join(", "))),
        None => {}
    }
    ErrorObject::new(ErrorCode::INVALID_REQUEST, message)
}

pub(crate) fn beyond_tier(tool: &str, tier: Tier) -> ErrorObject {
    let tier = tier.as_str();
    let message = format!(
        "the tool `{tool}` may change more than the token of this client allows, whose tier is `{tier}`; it needs a token of a higher tier"
    );
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
}

/// A call that could not be recorded.
pub(crate) fn not_recorded(why: &str) -> ErrorObject {
    let message = format!("the call was refused, because it could not be recorded: {why}");
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, message)
}

/// A revision that we do not speak.
pub(crate) fn unsupported_version(requested: &str) -> ErrorObject {
    let data = json!({ "supported": supported_versions(), "requested": requested });
    ErrorObject::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version").with_data(&data)
}

/// The revisions that we speak, newest first.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    Revision::ALL.into_iter().rev().map(Revision::as_str).collect()
}

/// A request that its client cancelled.
/// A tool that needs input of the client, called by code of a client that would have to send its request again with it.
pub(crate) fn no_input_in_code() -> ErrorObject {
    let message = "the tool needs input of the user, which it cannot get while code runs: call it directly, not from run_code";
    ErrorObject::new(ErrorCode::INVALID_REQUEST, message)
}

pub(crate) fn cancelled() -> ErrorObject {
    ErrorObject::new(ErrorCode::SERVER_ERROR, "the request was canceled")
}

/// A call whose server requires input while too many calls are suspended.
pub(crate) fn too_many_server_requests() -> ErrorObject {
    let message = "the server requires input, but too many calls are suspended; try again later";
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, message)
}

/// A request that waits for a suspended call no longer.
pub(crate) fn taken_over() -> ErrorObject {
    let message = "the call was resumed by a newer request, or the hub is shutting down";
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, message)
}

/// An elicitation in URL mode that the client does not support.
pub(crate) fn missing_capability(method_name: &str) -> ErrorObject {
    let data = json!({ "requiredCapabilities": { "elicitation": { "url": {} } } });
    let message =
        format!("the request requires `{method_name}` in URL mode, which the client has not declared");
    ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, message).with_data(&data)
}

/// A request about tasks of a client that does not declare the extension.
pub(crate) fn needs_tasks() -> ErrorObject {
    let data = json!({ "requiredCapabilities": { "extensions": { meta::TASKS_EXTENSION: {} } } });
    let message = format!("the client must declare the extension `{}`", meta::TASKS_EXTENSION);
    ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, message).with_data(&data)
}

/// The id of a task that we did not give out.
pub(crate) fn unknown_task() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, "`taskId` is not the id of a task that this hub knows")
}

/// A body that could not be read.
pub(crate) fn body(error: &ReadBodyError) -> (StatusCode, ErrorObject) {
    let status = match error {
        ReadBodyError::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        ReadBodyError::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
        ReadBodyError::Broken(_) => StatusCode::BAD_REQUEST,
    };
    (status, ErrorObject::new(ErrorCode::INVALID_REQUEST, error.to_string()))
}

/// The HTTP status of an error in modern revisions.
pub(crate) fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        code if code.is_modern() => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
