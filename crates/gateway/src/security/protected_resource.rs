//! The hub as a protected resource: where clients get tokens (RFC 9728), and what they are told when theirs does not do.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use serde_json::json;
use toolbay_access::PublicUrl;
use toolbay_protocol::ErrorObject;

use crate::listener::{
    cors,
    response::{HttpResponse, json, json_error, not_allowed},
};

/// What clients must know to get a token.
#[derive(Debug, Clone)]
pub struct ProtectedResource {
    /// The issuers whose tokens are accepted.
    pub authorization_servers: Vec<String>,
    /// The scopes that clients should ask for.
    pub scopes: Vec<String>,
}

/// Why a request is refused, in the words of RFC 6750.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChallengeError<'a> {
    /// There is no token.
    Missing,
    /// It is not one token.
    InvalidRequest,
    InvalidToken,
    /// All scopes that are needed.
    InsufficientScope(&'a [String]),
}

impl ProtectedResource {
    /// The metadata at a path of the well-known ones; none if it is another path.
    pub(crate) fn metadata<B>(&self, base: &PublicUrl, request: &Request<B>) -> Option<HttpResponse> {
        let resource = base.endpoint_of_metadata(request.uri().path())?;
        let mut response = match *request.method() {
            Method::GET | Method::HEAD => {
                let mut document = json!({
                    "resource": resource,
                    "authorization_servers": self.authorization_servers,
                    "bearer_methods_supported": ["header"],
                    "resource_name": "Toolbay",
                });
                if !self.scopes.is_empty() {
                    document["scopes_supported"] = json!(self.scopes);
                }
                json(StatusCode::OK, Bytes::from(document.to_string()).into())
            }
            Method::OPTIONS => cors::preflight(request.headers()),
            _ => not_allowed("GET"),
        };
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        // Nothing in it is secret, and pages that are refused elsewhere learn from it why.
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(response)
    }
}

/// A refusal with its challenge. Without `resource`, clients have their tokens from elsewhere.
pub(crate) fn challenge(
    resource: Option<(&ProtectedResource, &PublicUrl)>,
    path: &str,
    why: ChallengeError<'_>,
    error: &ErrorObject,
) -> HttpResponse {
    let (status, code) = match why {
        ChallengeError::Missing => (StatusCode::UNAUTHORIZED, None),
        ChallengeError::InvalidRequest => (StatusCode::BAD_REQUEST, Some("invalid_request")),
        ChallengeError::InvalidToken => (StatusCode::UNAUTHORIZED, Some("invalid_token")),
        ChallengeError::InsufficientScope(_) => (StatusCode::FORBIDDEN, Some("insufficient_scope")),
    };
    let mut parts = Vec::new();
    parts.extend(code.map(|code| format!(r#"error="{code}""#)));
    let scopes = match (why, resource) {
        (ChallengeError::InsufficientScope(required), _) => required,
        (_, Some((resource, _))) => &resource.scopes,
        (_, None) => &[],
    };
    if let Some((_, base)) = resource {
        parts.push(format!(r#"resource_metadata="{}""#, base.metadata_url(path)));
    }
    if !scopes.is_empty() {
        parts.push(format!(r#"scope="{}""#, scopes.join(" ")));
    }
    let value = format!("Bearer {}", parts.join(", "));
    let mut response = json_error(status, None, error);
    if let Ok(value) = HeaderValue::from_str(value.trim_end()) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// The base URL of a request to a hub on this machine that was given no public one: what the client calls it. `Host` is
/// judged already; other names than those of this machine are no base.
pub(crate) fn loopback_base(scheme: &str, uri: &http::Uri, headers: &HeaderMap) -> Option<PublicUrl> {
    let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = named.or_else(|| uri.authority().map(http::uri::Authority::as_str))?;
    format!("{scheme}://{host}").parse().ok().filter(PublicUrl::is_loopback)
}
