//! The clients that people may be asked about: those that registered themselves, and those that publish a document.

mod documents;
mod redirect_uri;
mod registered;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolbay_oauth::{Fetch, Scopes};

pub(super) use redirect_uri::{RedirectKind, is_loopback};
pub(super) use registered::{RegistrationError, RegistrationRequest, Registrations};

use documents::Documents;

/// The longest client id, in bytes.
pub(super) const MAX_CLIENT_ID: usize = 512;
/// How many redirect URIs a client may have, and how long each may be.
const MAX_REDIRECT_URIS: usize = 20;
const MAX_REDIRECT_URI: usize = 1024;
const MAX_NAME: usize = 200;

/// A client of the proxy. All are public clients: what protects them is PKCE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProxyClient {
    pub(super) client_id: String,
    /// What it calls itself.
    pub(super) name: String,
    pub(super) redirect_uris: Vec<String>,
}

impl ProxyClient {
    /// A client, if what it says about itself is acceptable.
    fn new(
        client_id: String,
        name: Option<&str>,
        redirect_uris: Vec<String>,
        schemes: &[String],
    ) -> Result<Self, InvalidClient> {
        if redirect_uris.is_empty() || redirect_uris.len() > MAX_REDIRECT_URIS {
            return Err(InvalidClient::RedirectUri(format!(
                "there must be 1 to {MAX_REDIRECT_URIS} redirect URIs"
            )));
        }
        for uri in &redirect_uris {
            let kind = RedirectKind::of(uri, schemes).map_err(|problem| {
                InvalidClient::RedirectUri(format!("the redirect URI `{}` {problem}", shortened(uri)))
            })?;
            tracing::trace!(?kind, "redirect URI of a client");
        }
        let name: String = name.unwrap_or_default().trim().chars().take(MAX_NAME).collect();
        let name = if name.is_empty() { "A program without a name".to_owned() } else { name };
        Ok(Self { client_id, name, redirect_uris })
    }

    /// Whether it may be answered at a URI. The URIs are compared as texts, but for the port of a program on the machine of the
    /// user, which gets another port each time (RFC 8252 7.3).
    pub(super) fn has_redirect_uri(&self, uri: &str) -> bool {
        uri.len() <= MAX_REDIRECT_URI
            && self.redirect_uris.iter().any(|registered| redirect_uri::matches(registered, uri))
    }

    /// Whether it is the document at a URL that says what the client is, so that its host vouches for it.
    pub(super) fn is_published(&self) -> bool {
        self.client_id.starts_with("https://")
    }

    /// Whether all answers go to the machine of the user, where any program can pretend to be this one.
    pub(super) fn is_local_only(&self, schemes: &[String]) -> bool {
        self.redirect_uris.iter().all(|uri| RedirectKind::of(uri, schemes) != Ok(RedirectKind::Web))
    }
}

/// What a client must not say about itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidClient {
    #[error("{0}")]
    RedirectUri(String),
    #[error("{0}")]
    Metadata(String),
    /// It is not known, or what it says cannot be read.
    #[error("{0}")]
    Unknown(String),
    /// Too much was asked of late.
    #[error("too many unknown clients of late; try again in a minute")]
    Busy,
}

/// All clients.
#[derive(Debug)]
pub(super) struct ProxyClients {
    pub(super) registered: Arc<Registrations>,
    documents: Documents,
    schemes: Vec<String>,
}

impl ProxyClients {
    pub(super) fn new(registered: Registrations, fetch: Arc<dyn Fetch>, schemes: Vec<String>) -> Self {
        Self { registered: Arc::new(registered), documents: Documents::new(fetch), schemes }
    }

    /// Finds a client.
    pub(super) async fn find(&self, client_id: &str) -> Result<Arc<ProxyClient>, InvalidClient> {
        if client_id.len() > MAX_CLIENT_ID {
            return Err(InvalidClient::Unknown("the client id is too long".to_owned()));
        }
        if client_id.contains("://") {
            return self.documents.find(client_id, &self.schemes).await;
        }
        self.registered.find(client_id).ok_or_else(|| {
            let hint = "remove its saved login, so that it registers again";
            InvalidClient::Unknown(format!("this hub does not know the program that sent you here; {hint}"))
        })
    }
}

/// The metadata of a client that registers or publishes itself (RFC 7591). What is not listed does not matter here.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ClientMetadata {
    client_id: Option<String>,
    client_name: Option<String>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
    application_type: Option<String>,
    scope: Option<Scopes>,
}

impl ClientMetadata {
    /// Whether such a client can use the proxy at all.
    fn check(&self) -> Result<(), InvalidClient> {
        let has = |list: &Option<Vec<String>>, word: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|one| one == word))
        };
        match () {
            () if !has(&self.grant_types, "authorization_code") => {
                Err(InvalidClient::Metadata("`grant_types` must contain `authorization_code`".to_owned()))
            }
            () if !has(&self.response_types, "code") => {
                Err(InvalidClient::Metadata("`response_types` must contain `code`".to_owned()))
            }
            () => Ok(()),
        }
    }
}

fn shortened(uri: &str) -> String {
    uri.chars().filter(|character| !character.is_control()).take(100).collect()
}
