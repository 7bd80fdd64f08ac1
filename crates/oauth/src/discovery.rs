//! Which authorization server counts for a server, and what both say about themselves.

mod authorization_server;
mod resource;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header::ACCEPT};
use serde::de::DeserializeOwned;
use url::Url;

pub use authorization_server::AuthorizationServer;

use crate::{challenge::Challenge, error::OAuthError, http_client::Fetch, scope::Scopes};

/// How many authorization servers of a resource are tried.
const MAX_SERVERS: usize = 4;

/// What is known about the authorization of a server.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// The name of the server in requests for tokens: byte for byte what its metadata says, because authorization servers
    /// compare it so.
    pub resource: String,
    /// All scopes that clients may need, if the metadata says so.
    pub scopes_supported: Option<Scopes>,
    /// Whether tokens must be bound to a key.
    pub requires_dpop: bool,
    /// The authorization server.
    pub server: AuthorizationServer,
}

/// Finds the authorization server of a server, beginning with the challenge of its refusal.
///
/// A server without protected resource metadata is one of 2025-03-26: it is its own authorization server, at the root of its
/// origin.
///
/// # Errors
/// If metadata cannot be read, is about something else, or is missing where it must not be.
pub async fn discover(
    fetch: &dyn Fetch,
    server_url: &str,
    challenge: &Challenge,
) -> Result<Discovery, OAuthError> {
    let url = parse("the URL of the server", server_url)?;
    let Some(found) = resource::find(fetch, &url, challenge).await? else {
        let server = authorization_server::find_at_origin(fetch, &url).await?;
        let resource = resource::canonical(&url);
        return Ok(Discovery {
            resource,
            scopes_supported: None,
            requires_dpop: challenge.wants_dpop,
            server,
        });
    };
    let mut failure = None;
    for issuer in found.authorization_servers.iter().take(MAX_SERVERS) {
        match authorization_server::find(fetch, issuer).await {
            Ok(server) => {
                let scopes_supported = found.scopes_supported.as_ref();
                return Ok(Discovery {
                    requires_dpop: found.dpop_bound_access_tokens_required || challenge.wants_dpop,
                    scopes_supported: scopes_supported.map(|all| all.iter().map(String::as_str).collect()),
                    resource: found.resource,
                    server,
                });
            }
            Err(error) => drop(failure.get_or_insert(error)),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => {
            // Metadata without an authorization server says nothing about where it is.
            let server = authorization_server::find_at_origin(fetch, &url).await?;
            Ok(Discovery {
                resource: found.resource,
                scopes_supported: None,
                requires_dpop: challenge.wants_dpop,
                server,
            })
        }
    }
}

/// Reads a JSON document. A refusal (4xx) or something that is not JSON means that there is none.
async fn read<T: DeserializeOwned>(fetch: &dyn Fetch, url: &str) -> Result<Option<T>, OAuthError> {
    let response = get(fetch, url).await?;
    let status = response.status();
    if status.is_client_error() || status.is_redirection() {
        return Ok(None);
    }
    if status != StatusCode::OK {
        return Err(OAuthError::InvalidDocument { url: url.to_owned(), problem: format!("status {status}") });
    }
    match serde_json::from_slice::<serde_json::Value>(response.body()) {
        // Servers of web pages answer every path with the same page.
        Err(_) => Ok(None),
        Ok(document) => {
            serde_json::from_value(document).map(Some).map_err(|error| OAuthError::InvalidDocument {
                url: url.to_owned(),
                problem: format!("metadata that is invalid: {error}"),
            })
        }
    }
}

async fn get(fetch: &dyn Fetch, url: &str) -> Result<Response<Bytes>, OAuthError> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::GET;
    *request.uri_mut() =
        url.parse().map_err(|_| OAuthError::InvalidUrl { what: "the metadata URL", url: url.to_owned() })?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    Ok(fetch.fetch(request).await?)
}

fn parse(what: &'static str, url: &str) -> Result<Url, OAuthError> {
    match Url::parse(url) {
        Ok(parsed) if parsed.has_host() && matches!(parsed.scheme(), "http" | "https") => Ok(parsed),
        _ => Err(OAuthError::InvalidUrl { what, url: crate::http_client::without_query(url).to_owned() }),
    }
}

/// `scheme://host:port` of a URL.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
