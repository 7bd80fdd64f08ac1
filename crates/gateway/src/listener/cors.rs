//! CORS headers for pages of allowed origins.
//!
//! Other clients get none of them.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;

use crate::listener::{
    headers::comma_separated,
    response::{HttpResponse, empty},
};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// What clients send; `Mcp-Param-*` besides.
const REQUEST_HEADERS: [&str; 9] = [
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "cache-control",
];
const RESPONSE_HEADERS: HeaderValue =
    HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate");
/// In seconds, how long a browser remembers: as long as it may.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Whether a browser asks what its page may send.
pub(crate) fn is_preflight(request: &Request<Incoming>) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight request, without what every response to the page has.
pub(crate) fn preflight(request: &HeaderMap) -> HttpResponse {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    let wanted = comma_separated(request, &header::ACCESS_CONTROL_REQUEST_HEADERS);
    let granted: Vec<&str> = wanted.filter(|name| is_granted(name)).collect();
    if let Ok(granted) = HeaderValue::try_from(granted.join(", ")) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, granted);
    }
    headers.append(header::VARY, HeaderValue::from(header::ACCESS_CONTROL_REQUEST_HEADERS));
    // A page of the internet that may use a server on loopback must hear so.
    if request.contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}

/// Lets the page read the response.
pub(crate) fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
    headers.append(header::VARY, HeaderValue::from(header::ORIGIN));
}

fn is_granted(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    REQUEST_HEADERS.contains(&name.as_str()) || name.starts_with("mcp-param-")
}
