//! An [`Authorizer`] as transports use it.

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use http::{HeaderMap, Method, Uri};
use toolbay_transport::http::client::{
    AfterRefusal, AuthorizationFailure, AuthorizerFuture, RefusedRequest, RequestAuthorizer,
};

use super::{Authorizer, NextStep};
use crate::error::OAuthError;

/// How often it is looked whether another process logged in, while that is waited for.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

impl RequestAuthorizer for Authorizer {
    fn is_active(&self) -> bool {
        !self.0.is_idle.load(Relaxed)
    }

    fn headers<'a>(
        &'a self,
        method: &'a Method,
        url: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>> {
        Box::pin(async move {
            let headers = Authorizer::headers(self, method, &url.to_string()).await;
            headers.map_err(|error| failure(&error))
        })
    }

    fn accepted(&self, url: &Uri, received: &HeaderMap) {
        Authorizer::accepted(self, &url.to_string(), received);
    }

    fn refused<'a>(
        &'a self,
        request: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>> {
        Box::pin(async move {
            let RefusedRequest { status, url, sent, received, retries } = request;
            let step = Authorizer::refused(self, status, &url.to_string(), sent, received, retries).await;
            match step.map_err(|error| failure(&error))? {
                NextStep::Retry => Ok(AfterRefusal::Retry),
                NextStep::GiveUp => Ok(AfterRefusal::GiveUp),
                NextStep::Login => {
                    let is_step_up = status == http::StatusCode::FORBIDDEN;
                    Err(AuthorizationFailure::LoginRequired { is_step_up })
                }
            }
        })
    }

    fn changed(&self) -> AuthorizerFuture<'_, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(LOOK_INTERVAL).await;
                let seen = self.0.state.lock().stamp;
                if self.0.config.store.stamp() != seen {
                    // A store that cannot be read now is read with its next change.
                    let _ = self.load().await;
                }
                // Others may have read it before us, and a login of this process stores nothing that is news to it.
                let state = self.0.state.lock();
                let token = state.tokens.as_ref().map(|active| &active.tokens.access_token);
                if token.is_some() && token != state.refused.as_ref() {
                    return;
                }
            }
        })
    }

    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>> {
        Box::pin(Authorizer::login_page(self))
    }
}

fn failure(error: &OAuthError) -> AuthorizationFailure {
    match error {
        OAuthError::LoginRequired => AuthorizationFailure::LoginRequired { is_step_up: false },
        error => AuthorizationFailure::Failed { reason: chain(error), is_transient: error.is_transient() },
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
