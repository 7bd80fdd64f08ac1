//! The authorization request and its response: PKCE, `state`, `resource`, scopes and `iss`.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

use crate::{
    challenge::Challenge,
    credential::Credential,
    discovery::{AuthorizationServer, Discovery},
    error::{OAuthError, RefusedBy},
    login::{ClientSettings, Registration},
    scope::Scopes,
    token::{ErrorResponse, Form, refused},
};

const OFFLINE_ACCESS: &str = "offline_access";

/// Which scopes to request. The challenge knows best, then the settings, then the metadata of the server.
///
/// A step-up requests what was requested before, too: the new token replaces the old one. `offline_access` is added only where
/// the authorization server lists it, and never alone, because then it would replace the scopes that are given by default.
pub(crate) fn scopes_to_request(
    settings: &ClientSettings,
    challenge: &Challenge,
    discovery: &Discovery,
    before: &Scopes,
) -> Scopes {
    let configured = settings.scopes.clone();
    let wanted = match (&challenge.scope, configured) {
        (Some(challenged), configured) => challenged.union(&configured.unwrap_or_default()),
        (None, Some(configured)) => configured,
        (None, None) => discovery.scopes_supported.clone().unwrap_or_default(),
    };
    let wanted = wanted.union(before);
    let is_offline_offered = discovery.server.scopes_supported.iter().any(|scope| scope == OFFLINE_ACCESS);
    match is_offline_offered && !wanted.is_empty() {
        true => wanted.union(&Scopes::parse(OFFLINE_ACCESS)),
        false => wanted,
    }
}

/// What must be known when the response comes.
#[derive(Debug)]
pub(crate) struct PendingLogin {
    state: Credential,
    verifier: Credential,
    issuer: String,
    is_issuer_announced: bool,
    redirect_uri: String,
}

/// Makes the URL that the user is sent to.
pub(crate) fn begin(
    discovery: &Discovery,
    registration: &Registration,
    scopes: &Scopes,
) -> Result<(String, PendingLogin), OAuthError> {
    let server = &discovery.server;
    let endpoint = server.code_endpoint()?;
    let pending = PendingLogin::new(server, &registration.redirect_uri)?;
    let challenge = pending.code_challenge();
    let scope = scopes.to_string();
    let mut parameters = vec![
        ("response_type", "code"),
        ("client_id", &registration.client_id),
        ("redirect_uri", &registration.redirect_uri),
        ("state", pending.state.expose()),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &discovery.resource),
    ];
    if !scope.is_empty() {
        parameters.push(("scope", &scope));
    }
    if scopes.contains(OFFLINE_ACCESS) {
        // OpenID Connect gives a refresh token only to users who were asked.
        parameters.push(("prompt", "consent"));
    }
    Ok((with_query(endpoint, &parameters)?, pending))
}

/// Adds parameters to a URL that may have some of its own. None is there twice: ours count.
pub(crate) fn with_query(endpoint: &str, parameters: &[(&str, &str)]) -> Result<String, OAuthError> {
    let invalid = || OAuthError::InvalidUrl { what: "the authorization endpoint", url: endpoint.to_owned() };
    let mut url = Url::parse(endpoint).map_err(|_| invalid())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid()); // it is handed to a browser, which opens other things, too
    }
    let own: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !parameters.iter().any(|(ours, _)| ours == name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.query_pairs_mut().clear().extend_pairs(own).extend_pairs(parameters);
    url.set_fragment(None);
    Ok(url.into())
}

/// The parameters with which the user came back.
#[derive(Debug, Default)]
pub(crate) struct AuthorizationResponse {
    state: Option<Credential>,
    code: Option<Credential>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
    is_ambiguous: bool,
}

impl AuthorizationResponse {
    /// Reads a redirect URL, or only its query.
    pub(crate) fn parse(text: &str) -> Self {
        let query = text.trim().split_once('?').map_or(text.trim(), |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let mut response = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            let is_new = match &*name {
                "state" => response.state.replace(Credential::new(value)).is_none(),
                "code" => response.code.replace(Credential::new(value)).is_none(),
                "iss" => response.iss.replace(value).is_none(),
                "error" => response.error.replace(value).is_none(),
                "error_description" => response.error_description.replace(value).is_none(),
                _ => true,
            };
            response.is_ambiguous |= !is_new;
        }
        response
    }

    /// The login that it says it belongs to.
    pub(crate) fn state(&self) -> Option<&Credential> {
        self.state.as_ref()
    }
}

impl PendingLogin {
    /// A login at an authorization server, with values that cannot be guessed.
    pub(crate) fn new(server: &AuthorizationServer, redirect_uri: &str) -> Result<Self, OAuthError> {
        Ok(Self {
            state: Credential::random()?,
            verifier: Credential::random()?,
            issuer: server.issuer.clone(),
            is_issuer_announced: server.authorization_response_iss_parameter_supported,
            redirect_uri: redirect_uri.to_owned(),
        })
    }

    pub(crate) fn state(&self) -> &Credential {
        &self.state
    }

    /// The S256 challenge of PKCE.
    pub(crate) fn code_challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.expose()))
    }

    /// Whether a response is that of this login.
    pub(crate) fn is_answered_by(&self, response: &AuthorizationResponse) -> bool {
        response.state.as_ref() == Some(&self.state)
    }

    /// Checks a response and returns its code. RFC 9207 says when `iss` must be there; if it is wrong, nothing else of the
    /// response counts, errors included.
    pub(crate) fn accept(&self, response: AuthorizationResponse) -> Result<Credential, OAuthError> {
        if !self.is_answered_by(&response) {
            return Err(OAuthError::InvalidResponse("it belongs to another login (`state`)"));
        }
        if response.is_ambiguous {
            return Err(OAuthError::InvalidResponse("a parameter is there twice"));
        }
        match &response.iss {
            Some(issuer) if *issuer != self.issuer => {
                return Err(OAuthError::InvalidResponse(
                    "it comes from another authorization server (`iss`)",
                ));
            }
            None if self.is_issuer_announced => {
                return Err(OAuthError::InvalidResponse("it does not say where it comes from (`iss`)"));
            }
            _ => {}
        }
        if let Some(error) = response.error {
            let error_description = response.error_description.unwrap_or_default();
            let refusal = ErrorResponse { error, error_description };
            return Err(refused(RefusedBy::Authorization, &refusal, str::to_owned));
        }
        response.code.ok_or(OAuthError::InvalidResponse("it has no code"))
    }

    /// The form that exchanges a code for tokens of a resource.
    pub(crate) fn exchange(&self, code: &Credential, resource: &str) -> Form {
        let mut form = self.exchange_code(code);
        form.set("resource", resource);
        form
    }

    /// The form that exchanges a code for tokens of the authorization server itself.
    pub(crate) fn exchange_code(&self, code: &Credential) -> Form {
        let mut form = Form::of_grant("authorization_code");
        form.set("code", code.expose());
        form.set("redirect_uri", &self.redirect_uri);
        form.set("code_verifier", self.verifier.expose());
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(is_issuer_announced: bool) -> PendingLogin {
        PendingLogin {
            state: Credential::new("s"),
            verifier: Credential::new("v"),
            issuer: "https://as.example".to_owned(),
            is_issuer_announced,
            redirect_uri: String::new(),
        }
    }

    #[test]
    fn the_issuer_is_checked_before_anything_else_counts() {
        let good = "iss=https%3A%2F%2Fas.example";
        for (announced, query, expected) in [
            (true, format!("code=c&state=s&{good}"), "code"),
            (true, "code=c&state=s".to_owned(), "where it comes from"),
            (true, "error=access_denied&state=s".to_owned(), "where it comes from"),
            (false, "code=c&state=s".to_owned(), "code"),
            (false, format!("code=c&state=s&{good}"), "code"),
            (false, "code=c&state=s&iss=https://as.example/".to_owned(), "another authorization server"),
            (false, "code=c&state=s&iss=https://AS.example".to_owned(), "another authorization server"),
            (
                false,
                "error=x&error_description=evil&state=s&iss=https://e".to_owned(),
                "another authorization server",
            ),
            (true, format!("error=access_denied&error_description=no&state=s&{good}"), "access_denied (no)"),
            (false, "code=c&state=t".to_owned(), "another login"),
            (false, "code=c".to_owned(), "another login"),
            (false, "code=c&code=d&state=s".to_owned(), "twice"),
            (false, "state=s".to_owned(), "no code"),
        ] {
            let result =
                pending(announced).accept(AuthorizationResponse::parse(&format!("http://x/cb?{query}")));
            let text = result.map_or_else(|error| error.to_string(), |_| "code".to_owned());
            assert!(text.contains(expected), "{announced} {query}: {text}");
            assert!(!text.contains("evil"), "{text}");
        }
    }

    #[test]
    fn parameters_of_the_endpoint_are_kept_but_never_twice() {
        let url = with_query(
            "https://h/a?audience=api%20x&scope=old&client_id=z",
            &[("scope", "a b"), ("client_id", "c")],
        );
        assert_eq!(url.unwrap(), "https://h/a?audience=api+x&scope=a+b&client_id=c");
        assert!(with_query("javascript:alert(1)", &[]).is_err());
    }
}
