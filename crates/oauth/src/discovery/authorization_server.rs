//! Metadata of authorization servers: RFC 8414 and OpenID Connect Discovery.

use serde::Deserialize;
use url::Url;

use super::{origin, parse, read};
use crate::{error::OAuthError, http_client::Fetch};

/// What an authorization server says about itself. Fields are named as in RFC 8414.
#[derive(Debug, Clone, Deserialize)]
pub struct AuthorizationServer {
    /// Its name. Everything that it issues belongs to this name.
    pub issuer: String,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: String,
    pub registration_endpoint: Option<String>,
    pub introspection_endpoint: Option<String>,
    pub userinfo_endpoint: Option<String>,
    /// Where its public keys are.
    pub jwks_uri: Option<String>,
    #[serde(default)]
    pub scopes_supported: Vec<String>,
    pub code_challenge_methods_supported: Option<Vec<String>>,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub dpop_signing_alg_values_supported: Vec<String>,
    pub revocation_endpoint: Option<String>,
    /// Whether there is no metadata, and all of this is what 2025-03-26 assumes then.
    #[serde(skip)]
    pub is_assumed: bool,
}

impl AuthorizationServer {
    /// Reads the metadata of an issuer: RFC 8414, else OpenID Connect Discovery.
    ///
    /// # Errors
    /// If there is none, or it is that of another issuer.
    pub async fn of_issuer(fetch: &dyn Fetch, issuer: &str) -> Result<Self, OAuthError> {
        find(fetch, issuer).await
    }

    /// The authorization endpoint, if a code can be had there safely.
    ///
    /// # Errors
    /// If there is none, or it does not support PKCE with S256.
    pub(crate) fn code_endpoint(&self) -> Result<&str, OAuthError> {
        let unsupported = |what| OAuthError::Unsupported { issuer: self.issuer.clone(), what };
        let methods = self.code_challenge_methods_supported.as_deref().unwrap_or_default();
        if !methods.iter().any(|method| method == "S256") {
            return Err(unsupported("PKCE with S256, so a code could be stolen"));
        }
        self.authorization_endpoint.as_deref().ok_or_else(|| unsupported("logins of users"))
    }

    /// Whether clients authenticate at the token endpoint like this. RFC 8414 says what holds if nothing is said.
    pub(crate) fn supports_authentication(&self, method: &str) -> bool {
        match &self.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|supported| supported == method),
            None => method == "client_secret_basic",
        }
    }
}

/// Reads the metadata of an issuer.
pub(super) async fn find(fetch: &dyn Fetch, issuer: &str) -> Result<AuthorizationServer, OAuthError> {
    let url = parse("the authorization server", issuer)?;
    match find_of(fetch, issuer, &url).await? {
        Some(found) => Ok(found),
        None => Err(OAuthError::NoMetadata { issuer: issuer.to_owned() }),
    }
}

/// Reads the metadata of a server that is its own authorization server, as in 2025-03-26. Without metadata, the endpoints
/// have the names that this revision gives them.
pub(super) async fn find_at_origin(
    fetch: &dyn Fetch,
    server: &Url,
) -> Result<AuthorizationServer, OAuthError> {
    let issuer = origin(server);
    let url = parse("the authorization server", &issuer)?;
    if let Some(found) = find_of(fetch, &issuer, &url).await? {
        return Ok(found);
    }
    Ok(AuthorizationServer {
        authorization_endpoint: Some(format!("{issuer}/authorize")),
        token_endpoint: format!("{issuer}/token"),
        registration_endpoint: Some(format!("{issuer}/register")),
        introspection_endpoint: None,
        userinfo_endpoint: None,
        jwks_uri: None,
        scopes_supported: Vec::new(),
        code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
        token_endpoint_auth_methods_supported: None,
        client_id_metadata_document_supported: false,
        authorization_response_iss_parameter_supported: false,
        dpop_signing_alg_values_supported: Vec::new(),
        revocation_endpoint: None,
        is_assumed: true,
        issuer,
    })
}

async fn find_of(
    fetch: &dyn Fetch,
    issuer: &str,
    url: &Url,
) -> Result<Option<AuthorizationServer>, OAuthError> {
    for document in well_known(url) {
        if let Some(found) = read::<AuthorizationServer>(fetch, &document).await? {
            // Compared as texts: an issuer that is only equivalent is another one.
            if found.issuer != issuer {
                return Err(OAuthError::WrongIssuer {
                    url: document,
                    expected: issuer.to_owned(),
                    found: found.issuer,
                });
            }
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn well_known(issuer: &Url) -> Vec<String> {
    let (origin, path) = (origin(issuer), issuer.path().trim_end_matches('/'));
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_a_tenant_is_looked_for_in_three_places() {
        let urls = |issuer| well_known(&Url::parse(issuer).unwrap());
        assert_eq!(
            urls("https://h/t"),
            [
                "https://h/.well-known/oauth-authorization-server/t",
                "https://h/.well-known/openid-configuration/t",
                "https://h/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            urls("https://h/"),
            [
                "https://h/.well-known/oauth-authorization-server",
                "https://h/.well-known/openid-configuration"
            ]
        );
    }
}
