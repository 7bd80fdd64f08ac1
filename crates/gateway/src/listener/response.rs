//! HTTP responses.

use http::{HeaderValue, Response, StatusCode, header};
use toolbay_protocol::{ErrorCode, ErrorObject, ProtocolFeatures, RequestId, Rope};
use toolbay_transport::http::Body;

use crate::{error, request::call::FinalResponse};

pub(crate) type HttpResponse = Response<Body>;

pub(crate) fn final_response(known: FinalResponse, features: ProtocolFeatures) -> HttpResponse {
    let status = match known.error {
        Some(code) if features.has_error_statuses() => error::status_of(code),
        _ => StatusCode::OK,
    };
    json(status, known.text)
}

pub(crate) fn json(status: StatusCode, text: Rope) -> HttpResponse {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn json_error(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> HttpResponse {
    json(status, toolbay_protocol::error(id, error).into())
}

pub(crate) fn sse(body: Body) -> HttpResponse {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

pub(crate) fn not_allowed(allow: &'static str) -> HttpResponse {
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "this method is not allowed here");
    let mut response = json_error(StatusCode::METHOD_NOT_ALLOWED, None, &error);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

/// A limit is reached; the client may retry later.
pub(crate) fn too_many(message: &str, id: Option<&RequestId>) -> HttpResponse {
    let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, message);
    let mut response = json_error(StatusCode::TOO_MANY_REQUESTS, id, &error);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
    response
}

/// A request from a host, origin or user that is not allowed.
pub(crate) fn forbidden(reason: &str) -> HttpResponse {
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, format!("refused: {reason}"));
    json_error(StatusCode::FORBIDDEN, None, &error)
}
