//! The authorization request of a client, checked.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use toolbay_oauth::Scopes;
use url::form_urlencoded;

use super::{
    clients::{InvalidClient, ProxyClient, ProxyClients, RedirectKind},
    response::{self, escape},
    settings::ProxySettings,
};

/// The longest value of a parameter, in bytes.
const MAX_VALUE: usize = 4096;
/// The length of a S256 challenge: 32 bytes in base64.
const CHALLENGE: usize = 43;

/// A request that may be answered, if the person consents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizationRequest {
    pub(super) client_id: String,
    pub(super) redirect_uri: String,
    /// What the client wants back.
    pub(super) state: Option<String>,
    pub(super) code_challenge: String,
    pub(super) scopes: Scopes,
    pub(super) resource: String,
}

/// The parameters of a request, none of them twice.
#[derive(Debug)]
pub(super) struct Parameters {
    values: HashMap<String, String>,
    resources: Vec<String>,
    ambiguous: Option<String>,
}

impl Parameters {
    /// Reads a query or a form. RFC 8707 alone lets a parameter be there twice.
    pub(super) fn parse(text: &[u8]) -> Self {
        let (mut values, mut resources, mut ambiguous) = (HashMap::new(), Vec::new(), None);
        for (name, value) in form_urlencoded::parse(text) {
            match &*name {
                _ if value.len() > MAX_VALUE => ambiguous = Some(name.into_owned()),
                "resource" => resources.push(value.into_owned()),
                _ if values.contains_key(&*name) => ambiguous = Some(name.into_owned()),
                _ => drop(values.insert(name.into_owned(), value.into_owned())),
            }
        }
        Self { values, resources, ambiguous }
    }

    /// The value of a parameter. An empty one counts as none (RFC 6749 3.1).
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn resources(&self) -> &[String] {
        &self.resources
    }

    /// A parameter that is there twice, so that its meaning is not clear, or too long.
    pub(super) fn ambiguous(&self) -> Option<&str> {
        self.ambiguous.as_deref()
    }
}

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum Refused {
    /// Nobody may be told but the person: where the client is, is not known.
    Here(String),
    /// The client is told.
    AtClient { redirect_uri: String, state: Option<String>, code: &'static str, description: String },
}

impl AuthorizationRequest {
    /// Checks a request. What comes first is where the client may be answered.
    pub(super) async fn check(
        settings: &ProxySettings,
        clients: &ProxyClients,
        parameters: &Parameters,
    ) -> Result<(Self, Arc<ProxyClient>), Refused> {
        let here = |text: &str| Refused::Here(text.to_owned());
        if let Some(twice @ ("client_id" | "redirect_uri")) = parameters.ambiguous() {
            return Err(Refused::Here(format!("The parameter {twice} is there twice, or too long.")));
        }
        let client_id =
            parameters.get("client_id").ok_or_else(|| here("The parameter client_id is missing."))?;
        let client = clients.find(client_id).await.map_err(|problem| match problem {
            InvalidClient::Busy => {
                here("Too many programs asked for a login just now. Try again in a minute.")
            }
            problem => Refused::Here(capitalized(&problem.to_string())),
        })?;
        let redirect_uri =
            parameters.get("redirect_uri").ok_or_else(|| here("The parameter redirect_uri is missing."))?;
        if !client.has_redirect_uri(redirect_uri) {
            return Err(here(
                "The program that sent you here did not register the address that it wants to be answered at.",
            ));
        }
        match Self::check_rest(settings, parameters, client_id, redirect_uri) {
            Ok(request) => Ok((request, client)),
            Err((code, description)) => Err(Refused::AtClient {
                redirect_uri: redirect_uri.to_owned(),
                state: parameters.get("state").map(str::to_owned),
                code,
                description,
            }),
        }
    }

    fn check_rest(
        settings: &ProxySettings,
        parameters: &Parameters,
        client_id: &str,
        redirect_uri: &str,
    ) -> Result<Self, (&'static str, String)> {
        let invalid = |text: &str| ("invalid_request", text.to_owned());
        if let Some(twice) = parameters.ambiguous() {
            return Err(invalid(&format!("the parameter {} is there twice, or too long", shown(twice))));
        }
        if parameters.get("request").is_some() {
            return Err(("request_not_supported", "request objects are not supported".to_owned()));
        }
        if parameters.get("request_uri").is_some() {
            return Err(("request_uri_not_supported", "request objects are not supported".to_owned()));
        }
        match parameters.get("response_type") {
            Some("code") => {}
            Some(_) => return Err(("unsupported_response_type", "response_type must be `code`".to_owned())),
            None => return Err(invalid("response_type is missing")),
        }
        if parameters.get("response_mode").is_some_and(|mode| mode != "query") {
            return Err(invalid("response_mode must be `query`"));
        }
        if parameters.get("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
            return Err(("interaction_required", "the person must log in".to_owned()));
        }
        let challenge = parameters
            .get("code_challenge")
            .ok_or_else(|| invalid("PKCE is required: code_challenge is missing"))?;
        if parameters.get("code_challenge_method") != Some("S256") {
            return Err(invalid("code_challenge_method must be `S256`"));
        }
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if challenge.len() != CHALLENGE || !challenge.bytes().all(is_base64) {
            return Err(invalid("code_challenge must be a SHA-256 hash in base64url"));
        }
        if !parameters.resources().iter().all(|resource| settings.is_ours(resource)) {
            return Err(("invalid_target", "the resource is not this hub".to_owned()));
        }
        let resource = parameters.resources().first().unwrap_or(&settings.public_url).clone();
        let supported = settings.scopes();
        let scopes = match parameters.get("scope") {
            // What is not known here is left out, and what every client needs is added: the person sees it on the page.
            Some(requested) => {
                let known: Scopes = requested.split(' ').filter(|scope| supported.contains(scope)).collect();
                known.union(&settings.policy.required_scopes.iter().map(String::as_str).collect())
            }
            None => supported,
        };
        Ok(Self {
            client_id: client_id.to_owned(),
            redirect_uri: redirect_uri.to_owned(),
            state: parameters.get("state").map(str::to_owned),
            code_challenge: challenge.to_owned(),
            scopes,
            resource,
        })
    }

    /// The URL that tells the client about an error.
    pub(super) fn error_url(&self, issuer: &str, code: &str, description: &str) -> String {
        error_url(&self.redirect_uri, self.state.as_deref(), issuer, code, description)
    }

    /// The URL that brings the client its code.
    pub(super) fn code_url(&self, issuer: &str, code: &str) -> String {
        let mut parameters = vec![("code", code), ("iss", issuer)];
        parameters.extend(self.state.as_deref().map(|state| ("state", state)));
        response::with_parameters(&self.redirect_uri, &parameters)
    }
}

impl Refused {
    /// The response for the browser.
    ///
    /// A site is not gone to without a click: anyone can register one, and links to the hub would lead there.
    pub(super) fn response(self, settings: &ProxySettings) -> Response<Bytes> {
        match self {
            Self::Here(text) => response::page(
                StatusCode::BAD_REQUEST,
                "Login not possible",
                &format!("<p>{}</p>", escape(&text)),
            ),
            Self::AtClient { redirect_uri, state, code, description } => {
                let url =
                    error_url(&redirect_uri, state.as_deref(), &settings.public_url, code, &description);
                match RedirectKind::of(&redirect_uri, &settings.redirect_schemes) {
                    Ok(RedirectKind::Loopback) => response::see_other(&url),
                    _ => {
                        let body = format!(
                            "<p>The program that sent you here made a mistake: {}.</p>\n<p><a href=\"{}\">Go back to {}</a></p>",
                            escape(&description),
                            escape(&url),
                            escape(&host(&redirect_uri)),
                        );
                        response::page(StatusCode::BAD_REQUEST, "Login not possible", &body)
                    }
                }
            }
        }
    }
}

fn error_url(redirect_uri: &str, state: Option<&str>, issuer: &str, code: &str, description: &str) -> String {
    let mut parameters = vec![("error", code), ("error_description", description), ("iss", issuer)];
    parameters.extend(state.map(|state| ("state", state)));
    response::with_parameters(redirect_uri, &parameters)
}

/// The host of a redirect URI, for people.
pub(super) fn host(redirect_uri: &str) -> String {
    match url::Url::parse(redirect_uri) {
        Ok(url) => match url.host_str() {
            Some(host) if matches!(url.scheme(), "http" | "https") => host.to_owned(),
            _ => format!("{}:", url.scheme()),
        },
        Err(_) => redirect_uri.to_owned(),
    }
}

fn shown(name: &str) -> String {
    name.chars().filter(char::is_ascii_graphic).take(40).collect()
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}
