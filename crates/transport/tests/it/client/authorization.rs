//! Requests with authorization, on every transport that begins with an HTTP request.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};

use http::{HeaderMap, Method, StatusCode, Uri, header::AUTHORIZATION};
use tokio_util::task::TaskTracker;
use toolbay_testkit::{HttpScript, RecordedRequest, Responder};
use toolbay_transport::{
    Connection, Incoming,
    http::client::{
        AfterRefusal, AuthorizationFailure, AuthorizerFuture, HttpError, RefusedRequest, RequestAuthorizer,
        Target, connect,
    },
    legacy_sse, websocket,
};

use super::{request, target};

/// Counts what it is asked, and numbers its tokens.
#[derive(Debug, Default)]
struct Numbering {
    is_active: AtomicBool,
    token: AtomicU32,
    asked: AtomicU32,
    accepted: AtomicU32,
    /// From this token on, a login is needed.
    login_at: u32,
}

impl RequestAuthorizer for Numbering {
    fn is_active(&self) -> bool {
        self.is_active.load(SeqCst)
    }

    fn headers<'a>(
        &'a self,
        _: &'a Method,
        url: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>> {
        assert_eq!(url.scheme_str(), Some("http"));
        self.asked.fetch_add(1, SeqCst);
        let value = format!("Bearer {}", self.token.load(SeqCst)).parse().unwrap();
        Box::pin(async { Ok(HeaderMap::from_iter([(AUTHORIZATION, value)])) })
    }

    fn accepted(&self, _: &Uri, _: &HeaderMap) {
        self.accepted.fetch_add(1, SeqCst);
    }

    fn refused<'a>(
        &'a self,
        refused: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>> {
        assert_eq!(refused.sent.contains_key(AUTHORIZATION), self.is_active());
        assert_eq!(refused.received["www-authenticate"], "Bearer");
        let is_step_up = refused.status == StatusCode::FORBIDDEN;
        let token = self.token.fetch_add(1, SeqCst) + 1;
        self.is_active.store(true, SeqCst);
        Box::pin(async move {
            match (token >= self.login_at, refused.retries) {
                (true, _) => Err(AuthorizationFailure::LoginRequired { is_step_up }),
                (false, 3) => Ok(AfterRefusal::GiveUp),
                (false, _) => Ok(AfterRefusal::Retry),
            }
        })
    }

    fn changed(&self) -> AuthorizerFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>> {
        Box::pin(async { Err("none".to_owned()) })
    }
}

/// A server that accepts one token only.
async fn server(status: &'static str, good: &'static str) -> HttpScript {
    let script = move |asked: RecordedRequest, mut answering: Responder| async move {
        if asked.header("authorization") != good {
            answering.respond(status, &[("www-authenticate", "Bearer")], "").await;
        } else if asked.method == "GET" {
            answering.stream().await;
            answering.raw("event: endpoint\ndata: /mcp\n\n").await;
            answering.closed().await;
        } else {
            let body = serde_json::json!({ "jsonrpc": "2.0", "id": asked.body["id"], "result": {} });
            answering.respond("200 OK", &[("content-type", "application/json")], &body.to_string()).await;
        }
    };
    HttpScript::start(&TaskTracker::new(), script).await.unwrap()
}

fn with(url: &str, authorizer: &Arc<Numbering>) -> Target {
    Target { authorizer: Some(authorizer.clone()), ..target(url) }
}

/// How a request ends.
async fn outcome(mut wire: Connection) -> Result<(), HttpError> {
    // A connection that is made at once may be lost already.
    let _ = wire.outgoing.send(request(1).to_string().into()).await;
    match wire.incoming.recv().await {
        Some(Incoming::Message(_)) => Ok(()),
        Some(Incoming::Failed { why, .. } | Incoming::Lost { why, .. }) => Err(why),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refused_request_is_sent_again_with_new_headers() {
    let server = server("401 Unauthorized", "Bearer 2").await;
    let authorizer = Arc::new(Numbering { login_at: 9, ..Numbering::default() });
    outcome(connect(with(&server.url, &authorizer), Arc::default(), &TaskTracker::new())).await.unwrap();
    let sent: Vec<String> =
        server.requests().iter().map(|asked| asked.header("authorization").to_owned()).collect();
    assert_eq!(sent, ["", "Bearer 1", "Bearer 2"]);
    assert_eq!(authorizer.accepted.load(SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_refuses_nothing_is_asked_for_nothing() {
    let server = server("401 Unauthorized", "").await;
    let authorizer = Arc::new(Numbering { login_at: 9, ..Numbering::default() });
    outcome(connect(with(&server.url, &authorizer), Arc::default(), &TaskTracker::new())).await.unwrap();
    assert_eq!((authorizer.asked.load(SeqCst), authorizer.accepted.load(SeqCst)), (0, 0));
}

#[tokio::test]
async fn retries_end_and_the_refusal_is_the_response() {
    let server = server("401 Unauthorized", "Bearer 99").await;
    let authorizer = Arc::new(Numbering { login_at: 9, ..Numbering::default() });
    let outcome = outcome(connect(with(&server.url, &authorizer), Arc::default(), &TaskTracker::new())).await;
    assert!(matches!(outcome, Err(HttpError::Status { .. })), "{outcome:?}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn every_transport_says_that_a_login_is_required() {
    for (status, is_step_up) in [("401 Unauthorized", false), ("403 Forbidden", true)] {
        let server = server(status, "Bearer 99").await;
        let authorizer = || Arc::new(Numbering { login_at: 2, ..Numbering::default() });
        let tasks = TaskTracker::new();
        for wire in [
            connect(with(&server.url, &authorizer()), Arc::default(), &tasks),
            legacy_sse::connect(with(&server.url, &authorizer()), &tasks),
            websocket::connect(with(&server.url.replace("http:", "ws:"), &authorizer()), &tasks),
        ] {
            let why = outcome(wire).await.unwrap_err();
            assert!(matches!(why, HttpError::LoginRequired { is_step_up: found, .. } if found == is_step_up));
            assert_eq!((why.is_login_required(), why.is_unauthorized()), (!is_step_up, true));
            assert!(!why.is_undelivered() && why.to_string().contains("requires a login"), "{why}");
        }
        // Each was sent twice: without a token, and with the first one.
        let mut sent: Vec<String> =
            server.requests().iter().map(|asked| asked.header("authorization").to_owned()).collect();
        sent.sort_unstable();
        assert_eq!(sent, ["", "", "", "Bearer 1", "Bearer 1", "Bearer 1"]);
    }
}
