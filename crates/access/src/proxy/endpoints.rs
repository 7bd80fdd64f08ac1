//! Where the proxy answers, and the document that says so.

use bytes::Bytes;
use http::{Method, Response};
use serde_json::json;
use url::Url;

use super::{response, settings::ProxySettings};

pub(super) const AUTHORIZE: &str = "/oauth/authorize";
pub(super) const CONSENT: &str = "/oauth/consent";
pub(super) const CALLBACK: &str = "/oauth/callback";
pub(super) const TOKEN: &str = "/oauth/token";
pub(super) const REGISTER: &str = "/oauth/register";
pub(super) const REVOKE: &str = "/oauth/revoke";

/// What a request to the proxy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Metadata,
    Authorize,
    Consent,
    Callback,
    Token,
    Register,
    Revoke,
}

impl Endpoint {
    /// Finds the endpoint of a path, as the hub sees it. `base` is the path of the public URL; a proxy in front of the hub may
    /// have taken it off, or not. Every request to the hub comes by here, so it must be cheap.
    pub(super) fn find(base: &str, path: &str) -> Option<Self> {
        let is_well_known = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
            .iter()
            .filter_map(|document| path.strip_prefix(document))
            .any(|rest| rest.is_empty() || rest == base);
        let path = path.strip_prefix(base).unwrap_or(path);
        Some(match path {
            _ if is_well_known => Self::Metadata,
            "/.well-known/openid-configuration" => Self::Metadata,
            AUTHORIZE => Self::Authorize,
            CONSENT => Self::Consent,
            CALLBACK => Self::Callback,
            TOKEN => Self::Token,
            REGISTER => Self::Register,
            REVOKE => Self::Revoke,
            _ => return None,
        })
    }

    /// The method that it takes.
    pub(super) fn method(self) -> Method {
        match self {
            Self::Metadata | Self::Authorize | Self::Callback => Method::GET,
            Self::Consent | Self::Token | Self::Register | Self::Revoke => Method::POST,
        }
    }
}

/// The path of the public URL, without a slash at its end.
pub(super) fn base(settings: &ProxySettings) -> String {
    Url::parse(&settings.public_url)
        .map(|url| url.path().trim_end_matches('/').to_owned())
        .unwrap_or_default()
}

/// The metadata of RFC 8414. Clients that look for that of OpenID Connect find the same.
pub(super) fn metadata(settings: &ProxySettings) -> Response<Bytes> {
    let issuer = &settings.public_url;
    let scopes = settings.policy.scopes();
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}{AUTHORIZE}"),
        "token_endpoint": format!("{issuer}{TOKEN}"),
        "registration_endpoint": format!("{issuer}{REGISTER}"),
        "revocation_endpoint": format!("{issuer}{REVOKE}"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    });
    if !scopes.is_empty() {
        document["scopes_supported"] = json!(scopes);
    }
    let mut response = response::json(http::StatusCode::OK, &document);
    response
        .headers_mut()
        .insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("public, max-age=300"));
    response
}
