//! A login that waits for a user who gets its URL by other means: in an error, a message, a status.

use tokio::sync::watch;
use toolbay_transport::http::client::RequestAuthorizer as _;

use super::Authorizer;
use crate::{error::OAuthError, http_client::BoxFuture, login::UserAgent};

/// A login in progress, as those see it who show its URL.
pub(super) type LoginPage = watch::Receiver<PageState>;

/// How far a login is.
#[derive(Debug, Clone)]
pub(super) enum PageState {
    /// The authorization server is being asked.
    Opening,
    /// The user can open this URL.
    Open(String),
    /// It is over. The text says why it failed.
    Ended(Option<String>),
}

impl Authorizer {
    /// Begins a login, unless one is in progress, and returns the URL that the user has to open. However many clients ask, there
    /// is one login. It ends when the user is done, after the login timeout, or with the program.
    ///
    /// # Errors
    /// If there is no such page. The text says why.
    pub async fn login_page(&self) -> Result<String, String> {
        let mut page = {
            let mut state = self.0.state.lock();
            match &state.page {
                Some(page) if !matches!(*page.borrow(), PageState::Ended(_)) => page.clone(),
                _ => {
                    let (progress, page) = watch::channel(PageState::Opening);
                    state.page = Some(page.clone());
                    self.0.config.tasks.spawn(wait_for_user(self.clone(), progress));
                    page
                }
            }
        };
        let state = page.wait_for(|state| !matches!(state, PageState::Opening)).await;
        match state.as_deref() {
            Ok(PageState::Open(url)) => Ok(url.clone()),
            Ok(PageState::Ended(Some(why))) => Err(why.clone()),
            _ => Err("the login has ended".to_owned()),
        }
    }
}

async fn wait_for_user(authorizer: Authorizer, progress: watch::Sender<PageState>) {
    let agent = Announcement(&progress);
    let result = tokio::select! {
        result = authorizer.login(&agent) => result.map_err(|error| error.to_string()),
        // Another process did it, and may need the port for the next one.
        () = authorizer.changed() => Ok(()),
        () = authorizer.0.config.stop.cancelled() => Err("the program ends".to_owned()),
    };
    let server = &authorizer.0.config.key.server;
    match &result {
        Ok(()) => tracing::info!(server, "logged in"),
        Err(why) => tracing::info!(server, why, "the login did not succeed"),
    }
    progress.send_replace(PageState::Ended(result.err()));
}

/// Announces the URL to those who wait for it.
struct Announcement<'a>(&'a watch::Sender<PageState>);

impl UserAgent for Announcement<'_> {
    fn open<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Option<String>, OAuthError>> {
        self.0.send_replace(PageState::Open(url.to_owned()));
        Box::pin(async { Ok(None) })
    }
}
