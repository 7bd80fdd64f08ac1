//! Who sends a request over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Method, Request as HttpRequest, StatusCode, header};
use toolbay_access::{Access, Refusal};
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_transport::http::Body;

use crate::{
    listener::{
        headers::{comma_separated, single},
        http::{EarlyResponse, HttpListener},
        response::{HttpResponse, json, json_error, too_many},
    },
    security::token_failures::TooManyFailures,
};

/// A longer text is no token.
const MAX_TOKEN: usize = 16 * 1024;

/// What a request shows.
enum PresentedToken<'a> {
    Nothing,
    Token(&'a str),
    /// Not one token: several, or something else.
    Unusable,
}

impl HttpListener {
    /// Who sends a request, where that is known without waiting. This is the path of every call.
    pub(super) fn known_access(&self, headers: &HeaderMap) -> Option<Arc<Access>> {
        let options = &self.gateway.options;
        if !options.uses_tokens() {
            return Some(Access::owner());
        }
        match presented(headers) {
            PresentedToken::Nothing => options.allow_unauthenticated.then(Access::owner),
            PresentedToken::Token(token) => {
                options.authenticators.iter().find_map(|authenticator| authenticator.known(token))
            }
            PresentedToken::Unusable => None,
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
            PresentedToken::Nothing => return Err(Box::new(self.unauthorized())),
            PresentedToken::Token(token) => match self.find_out(token).await {
                Ok(access) => return Ok(access),
                Err(refusal) => refusal,
            },
            PresentedToken::Unusable => {
                Refusal::InvalidToken("the request must have one `Authorization: Bearer …` header".to_owned())
            }
        };
        Err(Box::new(self.refused(&refusal).await))
    }

    /// Asks all authenticators.
    async fn find_out(&self, token: &str) -> Result<Arc<Access>, Refusal> {
        for authenticator in &self.gateway.options.authenticators {
            if let Some(found) = authenticator.authenticate(token).await {
                return found;
            }
        }
        Err(Refusal::InvalidToken("the token is not valid for this hub".to_owned()))
    }

    /// The response to a request without a token.
    fn unauthorized(&self) -> HttpResponse {
        let message = "unauthorized: send a token of this hub as `Authorization: Bearer …`";
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
        challenge(StatusCode::UNAUTHORIZED, &error, "Bearer")
    }

    /// The response to a request with a token that is refused. Guessing is slowed down.
    async fn refused(&self, refusal: &Refusal) -> HttpResponse {
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, format!("unauthorized: {refusal}"));
        match refusal {
            Refusal::InvalidToken(_) => match self.gateway.wrong_tokens.hold_back().await {
                Ok(()) => challenge(StatusCode::UNAUTHORIZED, &error, r#"Bearer error="invalid_token""#),
                Err(TooManyFailures) => too_many("too many wrong tokens; try again later", None),
            },
            Refusal::InsufficientScope { required } => {
                let scopes = required.join(" ");
                let value = format!(r#"Bearer error="insufficient_scope", scope="{scopes}""#);
                challenge(StatusCode::FORBIDDEN, &error, &value)
            }
            Refusal::NotAllowed(_) => json_error(StatusCode::FORBIDDEN, None, &error),
            Refusal::Unavailable(_) => json_error(StatusCode::SERVICE_UNAVAILABLE, None, &error),
        }
    }
}

/// The token of a request: as a bearer token, or for a WebSocket, to which pages in a browser cannot give headers, as the
/// subprotocol `bearer.<token>`.
fn presented(headers: &HeaderMap) -> PresentedToken<'_> {
    let token = match single(headers, &header::AUTHORIZATION) {
        Ok(Some(value)) => match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => return PresentedToken::Unusable,
        },
        Ok(None) => {
            let mut tokens = comma_separated(headers, &header::SEC_WEBSOCKET_PROTOCOL)
                .filter_map(|word| word.strip_prefix("bearer."));
            match (tokens.next(), tokens.next()) {
                (None, _) => return PresentedToken::Nothing,
                (Some(token), None) => token,
                (Some(_), Some(_)) => return PresentedToken::Unusable,
            }
        }
        Err(_) => return PresentedToken::Unusable,
    };
    if token.is_empty() || token.len() > MAX_TOKEN {
        PresentedToken::Unusable
    } else {
        PresentedToken::Token(token)
    }
}

fn challenge(status: StatusCode, error: &ErrorObject, value: &str) -> HttpResponse {
    let mut response = json_error(status, None, error);
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
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
