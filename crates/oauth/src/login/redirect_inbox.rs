//! Responses of logins that come to a URL of the program's own, where users are not at the machine on which it runs.

use std::{collections::HashMap, fmt};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    credential::Credential,
    error::OAuthError,
    login::authorize::{AuthorizationResponse, PendingLogin},
};

/// How many logins may wait for their users at a time.
const MAX_WAITING: usize = 1000;

/// Where the responses of logins come in. The program serves the redirect URI and passes on what browsers bring.
pub struct RedirectInbox {
    redirect_uri: String,
    /// By `state`, which cannot be guessed.
    waiting: Mutex<HashMap<String, oneshot::Sender<AuthorizationResponse>>>,
}

/// Ends the wait when it is dropped.
struct AwaitedLogin<'a> {
    inbox: &'a RedirectInbox,
    state: &'a Credential,
}

impl RedirectInbox {
    /// An inbox at a URI that users' browsers can reach.
    pub fn new(redirect_uri: impl Into<String>) -> Self {
        Self { redirect_uri: redirect_uri.into(), waiting: Mutex::default() }
    }

    /// The URI that authorization servers send users back to.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Passes on the query with which a browser came back. Returns whether a login was waiting for it; each gets one response.
    pub fn deliver(&self, query: &str) -> bool {
        let response = AuthorizationResponse::parse(query);
        let sender = response.state().and_then(|state| self.waiting.lock().remove(state.expose()));
        sender.is_some_and(|sender| sender.send(response).is_ok())
    }

    /// Waits for the response of a login.
    pub(super) async fn wait(&self, pending: &PendingLogin) -> Result<AuthorizationResponse, OAuthError> {
        let (sender, response) = oneshot::channel();
        let _waiting = {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= MAX_WAITING {
                return Err(OAuthError::TooManyLogins);
            }
            waiting.insert(pending.state().expose().to_owned(), sender);
            AwaitedLogin { inbox: self, state: pending.state() }
        };
        // The sender is dropped only with the inbox, or after it was used.
        response.await.map_err(|_| OAuthError::InvalidResponse("the login was given up"))
    }
}

impl Drop for AwaitedLogin<'_> {
    fn drop(&mut self) {
        self.inbox.waiting.lock().remove(self.state.expose());
    }
}

impl fmt::Debug for RedirectInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedirectInbox").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}
