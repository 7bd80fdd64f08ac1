//! Who sends a request over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, Method, Request as HttpRequest, StatusCode, header};
use toolbay_access::{Access, PublicUrl, Refusal};
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_transport::http::Body;

use crate::{
    listener::{
        headers::{comma_separated, single},
        http::{EarlyResponse, HttpListener},
        response::{HttpResponse, forbidden, json, json_error, too_many},
    },
    security::{
        protected_resource::{self, ChallengeError, ProtectedResource},
        token_failures::TooManyFailures,
    },
};

/// A longer text is no token.
const MAX_TOKEN: usize = 16 * 1024;

/// What a request shows.
enum PresentedToken<'a> {
    Nothing,
    Token(&'a str),
    /// Credentials that are no token, or an empty one.
    Other,
    /// Not one token.
    Malformed,
}

impl HttpListener {
    /// Who sends a request, where that is known without waiting. This is the path of every call.
    pub(super) fn known_access(&self, headers: &HeaderMap) -> Option<Arc<Access>> {
        let options = &self.gateway.options;
        if !options.uses_tokens() {
            return Some(self.gateway.open_access.clone());
        }
        match presented(headers) {
            PresentedToken::Nothing => options.allow_unauthenticated.then(Access::owner),
            PresentedToken::Token(token) if token.len() > MAX_TOKEN => None,
            PresentedToken::Token(token) => {
                options.authenticators.iter().find_map(|authenticator| authenticator.known(token))
            }
            PresentedToken::Other | PresentedToken::Malformed => None,
        }
    }

    /// Finds out who sends a request; otherwise returns the response that refuses it.
    pub(super) async fn authenticate<B>(&self, request: &HttpRequest<B>) -> EarlyResponse<Arc<Access>> {
        let refusal = match presented(request.headers()) {
            // Without a token, a health check sees only that the hub runs.
            PresentedToken::Nothing
                if request.uri().path() == "/health"
                    && matches!(*request.method(), Method::GET | Method::HEAD) =>
            {
                let health = Bytes::from_static(br#"{"status":"ok","service":"toolbay"}"#);
                return Err(Box::new(json(StatusCode::OK, health.into())));
            }
            PresentedToken::Nothing | PresentedToken::Other => {
                let message = "unauthorized: send a token of this hub as `Authorization: Bearer …`";
                return Err(Box::new(self.challenge(request, ChallengeError::Missing, message)));
            }
            PresentedToken::Malformed => {
                let message = "the request must have one token, as `Authorization: Bearer …`";
                return Err(Box::new(self.challenge(request, ChallengeError::InvalidRequest, message)));
            }
            PresentedToken::Token(token) => match self.find_out(token).await {
                Ok(access) => return Ok(access),
                Err(refusal) => refusal,
            },
        };
        Err(Box::new(self.refused(request, &refusal).await))
    }

    /// Asks all authenticators.
    async fn find_out(&self, token: &str) -> Result<Arc<Access>, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::InvalidToken(format!("the token has more than {MAX_TOKEN} bytes")));
        }
        for authenticator in &self.gateway.options.authenticators {
            if let Some(found) = authenticator.authenticate(token).await {
                return found;
            }
        }
        Err(Refusal::InvalidToken("the token is not valid for this hub".to_owned()))
    }

    /// The response to a request with a token that is refused. Guessing is slowed down.
    async fn refused<B>(&self, request: &HttpRequest<B>, refusal: &Refusal) -> HttpResponse {
        let message = format!("unauthorized: {refusal}");
        match refusal {
            Refusal::InvalidToken(_) => match self.gateway.wrong_tokens.hold_back().await {
                Ok(()) => self.challenge(request, ChallengeError::InvalidToken, &message),
                Err(TooManyFailures) => too_many("too many wrong tokens; try again later", None),
            },
            Refusal::InsufficientScope { required } => {
                self.challenge(request, ChallengeError::InsufficientScope(required), &message)
            }
            Refusal::NotAllowed(reason) => forbidden(reason),
            Refusal::Unavailable(_) => {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, refusal.to_string());
                json_error(StatusCode::SERVICE_UNAVAILABLE, None, &error)
            }
        }
    }

    /// A refusal that says where a token can be had.
    fn challenge<B>(&self, request: &HttpRequest<B>, why: ChallengeError<'_>, message: &str) -> HttpResponse {
        let base = self.base_url(request);
        let resource = self.gateway.options.protected_resource.as_ref().zip(base.as_ref());
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
        protected_resource::challenge(resource, request.uri().path(), why, &error)
    }

    /// The metadata of the hub as a protected resource, if the request is for it. It needs no token.
    pub(super) fn metadata<B>(&self, request: &HttpRequest<B>) -> Option<HttpResponse> {
        let resource: &ProtectedResource = self.gateway.options.protected_resource.as_ref()?;
        resource.metadata(&self.base_url(request)?, request)
    }

    /// The same for pages of any site, which may read it. `Host` must be ours nevertheless.
    pub(super) fn metadata_for_all<B>(&self, request: &HttpRequest<B>) -> Option<HttpResponse> {
        self.guard.is_for_us(request.uri(), request.headers()).then(|| self.metadata(request)).flatten()
    }

    fn base_url<B>(&self, request: &HttpRequest<B>) -> Option<PublicUrl> {
        self.gateway
            .options
            .public_url
            .clone()
            .or_else(|| protected_resource::loopback_base(self.scheme, request.uri(), request.headers()))
    }
}

/// The token of a request: as a bearer token, or for a WebSocket, to which pages in a browser cannot give headers, as the
/// subprotocol `bearer.<token>`.
fn presented(headers: &HeaderMap) -> PresentedToken<'_> {
    let token = match single(headers, &header::AUTHORIZATION) {
        Ok(Some(value)) => match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return PresentedToken::Other,
        },
        Ok(None) => {
            let mut tokens = comma_separated(headers, &header::SEC_WEBSOCKET_PROTOCOL)
                .filter_map(|word| word.strip_prefix("bearer."));
            match (tokens.next(), tokens.next()) {
                (None, _) => return PresentedToken::Nothing,
                (Some(token), None) => token,
                (Some(_), Some(_)) => return PresentedToken::Malformed,
            }
        }
        Err(_) => return PresentedToken::Malformed,
    };
    match token {
        "" => PresentedToken::Other,
        _ if !token.bytes().all(|byte| byte.is_ascii_graphic()) => PresentedToken::Malformed,
        _ => PresentedToken::Token(token),
    }
}

/// The response to a request whose token was revoked before it was answered. What it began is cancelled.
pub(super) fn revoked() -> HttpResponse {
    let message = "unauthorized: the token was revoked before the request was answered";
    json_error(StatusCode::UNAUTHORIZED, None, &ErrorObject::new(ErrorCode::INVALID_REQUEST, message))
}

/// A response whose stream ends with the token that opened it.
pub(super) fn while_valid(response: HttpResponse, access: Arc<Access>) -> HttpResponse {
    response.map(|body| match body {
        Body::Full(pieces) => Body::Full(pieces),
        Body::Stream(events, _) => {
            Body::stream(events.take_until(Box::pin(async move { access.ended().await })))
        }
    })
}
