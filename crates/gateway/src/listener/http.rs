//! The HTTP listener: routes requests by path and method.

mod authentication;
mod batch;
pub(crate) mod legacy_sse;
mod post;
mod streams;
mod websocket;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request as HttpRequest, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use toolbay_access::{Access, ServerLogins, proxy::AuthorizationProxy};
use toolbay_host::HubChain;
use toolbay_protocol::{ErrorCode, ErrorObject, RequestId, Revision};
use toolbay_transport::http::{Body, ReadBodyError, RejectConnection, Respond, read_body};

use crate::{
    gateway::Gateway,
    listener::{
        cors,
        headers::{self, single},
        response::{HttpResponse, empty, forbidden, json, json_error, not_allowed, too_many},
    },
    security::{
        local_user::{LocalUsers, PeerUser},
        origin::{OriginGuard, OriginVerdict},
        principal_usage::{Limited, UsageGuard},
    },
    session::{Session, registry::SessionId},
};

/// How often a keep-alive comment is sent on a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Clients on HTTP.
pub(crate) struct HttpListener {
    gateway: Arc<Gateway>,
    guard: OriginGuard,
    users: LocalUsers,
    /// `http`, or `https` with TLS.
    scheme: &'static str,
    stop: CancellationToken,
}

impl Respond for HttpListener {
    async fn respond(&self, request: HttpRequest<Incoming>) -> HttpResponse {
        let page = match self.guard.judge(request.uri(), request.headers()) {
            OriginVerdict::Own => None,
            OriginVerdict::Allowed(origin) => Some(origin.clone()),
            OriginVerdict::Refused(reason) => {
                return self.metadata_for_all(&request).unwrap_or_else(|| forbidden(reason));
            }
        };
        if let Some(metadata) = self.metadata(&request) {
            return metadata;
        }
        let mut response = match &page {
            // A browser asks without the token whether its page may send it.
            Some(_) if cors::is_preflight(&request) => cors::preflight(request.headers()),
            _ => self.route(request).await,
        };
        if let Some(origin) = page {
            cors::allow(response.headers_mut(), origin);
        }
        response
    }

    async fn refuse(&self, connection: &TcpStream) -> Option<RejectConnection> {
        if self.gateway.options.requires_token() {
            return None; // the token says who calls
        }
        match self.users.judge(connection).await {
            PeerUser::Served => None,
            PeerUser::OtherUser => Some(|| {
                forbidden(
                    "this connection belongs to another user of this machine; start the hub with \
                     --token-file FILE (and the token sent as `Authorization: Bearer …`) or with --allow-local-users",
                )
            }),
            PeerUser::Unknown => Some(|| {
                forbidden(
                    "the user of this connection is not known; start the hub with \
                     --token-file FILE (and the token sent as `Authorization: Bearer …`) or with --allow-local-users",
                )
            }),
        }
    }
}

impl HttpListener {
    /// Answers a request that comes from where it may.
    async fn route(&self, request: HttpRequest<Incoming>) -> HttpResponse {
        if let Some(logins) = &self.gateway.options.server_logins
            && logins.serves(request.uri().path())
        {
            return Box::pin(self.server_login(logins, request)).await;
        }
        if let Some(proxy) = &self.gateway.options.authorization_proxy
            && proxy.serves(request.uri().path())
        {
            return Box::pin(self.authorize(proxy, request)).await;
        }
        let access = match self.known_access(request.headers()) {
            Some(access) => access,
            // Rare, and large.
            None => match Box::pin(self.authenticate(&request)).await {
                Ok(access) => access,
                Err(response) => return *response,
            },
        };
        if access.can_end() {
            let response = tokio::select! {
                biased;
                response = self.serve(request, access.clone()) => response,
                // A request that was begun may outlast its token, but not the decision to revoke it.
                () = access.revoked.cancelled() => return authentication::revoked(),
            };
            return authentication::while_valid(response, access);
        }
        let response = self.serve(request, access.clone()).await;
        authentication::while_valid(response, access)
    }

    /// Answers the browser of a person who logs in at a server.
    async fn server_login(&self, logins: &ServerLogins, request: HttpRequest<Incoming>) -> HttpResponse {
        let (head, body) = request.into_parts();
        let timeout = self.gateway.options.limits.body_timeout;
        match read_body(body, ServerLogins::MAX_BODY, timeout).await {
            Ok(body) => logins.respond(&HttpRequest::from_parts(head, body)).map(Body::full),
            Err(_) => empty(StatusCode::BAD_REQUEST),
        }
    }

    /// Answers a request to the authorization proxy: of a client that wants a token, or of the browser of a person who logs in.
    async fn authorize(&self, proxy: &AuthorizationProxy, request: HttpRequest<Incoming>) -> HttpResponse {
        let (head, body) = request.into_parts();
        let timeout = self.gateway.options.limits.body_timeout;
        let body = match read_body(body, AuthorizationProxy::MAX_BODY, timeout).await {
            Ok(body) => body,
            Err(ReadBodyError::TooLong { .. }) => return empty(StatusCode::PAYLOAD_TOO_LARGE),
            Err(ReadBodyError::TooSlow { .. }) => return empty(StatusCode::REQUEST_TIMEOUT),
            Err(ReadBodyError::Broken(_)) => return empty(StatusCode::BAD_REQUEST),
        };
        proxy.respond(HttpRequest::from_parts(head, body)).await.map(Body::full)
    }

    /// Answers a request of a known principal.
    async fn serve(&self, request: HttpRequest<Incoming>, access: Arc<Access>) -> HttpResponse {
        if self.is_own(request.headers()) {
            return empty(StatusCode::LOOP_DETECTED);
        }
        let (path, requested) = split_profile(request.uri().path());
        let access = match self.gateway.enter(access, requested) {
            Ok(access) => access,
            Err(error) => return json_error(StatusCode::NOT_FOUND, None, &error),
        };
        if !self.gateway.views.has_room_for(&access) {
            return too_many("too many principals use this hub at once; try again later", None);
        }
        match (path, request.method()) {
            ("/mcp" | "/", &Method::POST) => {
                self.post(request, access).await.unwrap_or_else(|response| *response)
            }
            ("/mcp", &Method::GET) => {
                self.get(request.headers(), &access).unwrap_or_else(|response| *response)
            }
            ("/mcp", &Method::DELETE) => self.delete(request.headers(), &access),
            ("/mcp", _) => not_allowed("POST, GET, DELETE"),
            ("/", _) => not_allowed("POST"),
            ("/sse", &Method::GET) => {
                self.open_sse(request.headers(), access).unwrap_or_else(|response| *response)
            }
            ("/sse", _) => not_allowed("GET"),
            ("/messages", &Method::POST) => {
                Box::pin(self.message(request, access)).await.unwrap_or_else(|response| *response) // rarer than the others, and large
            }
            ("/messages", _) => not_allowed("POST"),
            ("/ws", &Method::GET) => self.open_ws(request, access).unwrap_or_else(|response| *response),
            ("/ws", _) => not_allowed("GET"),
            ("/health", &Method::GET | &Method::HEAD) => {
                json(StatusCode::OK, Bytes::from(self.gateway.health(&access).to_string()).into())
            }
            ("/health", _) => not_allowed("GET"),
            _ => {
                let error =
                    ErrorObject::new(ErrorCode::INVALID_REQUEST, "not found; try /mcp, /sse, /ws or /health");
                json_error(StatusCode::NOT_FOUND, None, &error)
            }
        }
    }
}

/// The endpoint at a path, and the profile that the path names.
fn split_profile(path: &str) -> (&str, Option<&str>) {
    for endpoint in ["/mcp", "/sse", "/ws"] {
        if let Some(name) = path.strip_prefix(endpoint).and_then(|rest| rest.strip_prefix("/p/")) {
            return (endpoint, Some(name));
        }
    }
    (path, None)
}

/// A result, or the response that ends the request early.
type EarlyResponse<T> = Result<T, Box<HttpResponse>>;

fn early<T>(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> EarlyResponse<T> {
    Err(Box::new(json_error(status, id, error)))
}

impl HttpListener {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        guard: OriginGuard,
        users: LocalUsers,
        scheme: &'static str,
        stop: CancellationToken,
    ) -> Self {
        Self { gateway, guard, users, scheme, stop }
    }

    /// Whether a request comes from this hub itself, directly or through others.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let via = headers.get(HubChain::HEADER).and_then(|via| via.to_str().ok());
        let chain = self.gateway.host.chain();
        via.zip(chain).is_some_and(|(via, chain)| via.split(',').any(|id| id == chain.id()))
    }

    fn delete(&self, headers: &HeaderMap, access: &Arc<Access>) -> HttpResponse {
        match self.legacy_session(headers, access) {
            Ok(Some((id, _))) => {
                self.gateway.sessions.end(id);
                empty(StatusCode::OK)
            }
            Ok(None) => not_allowed("POST"),
            Err(response) => *response,
        }
    }

    /// Counts one more of something for a principal, unless it has too many.
    fn usage(&self, access: &Access, limited: Limited, id: Option<&RequestId>) -> EarlyResponse<UsageGuard> {
        let taken = self.gateway.usage.take(&access.principal, limited);
        taken.map_err(|limit| Box::new(too_many(&limit.to_string(), id)))
    }

    /// Ends a session when the token with which it goes on is revoked.
    fn end_with_access(&self, id: SessionId, session: &Arc<Session>) {
        if !session.access().can_end() {
            return;
        }
        let (gateway, stop, ended) = (self.gateway.clone(), self.stop.clone(), session.ended.clone());
        let session = Arc::downgrade(session); // a session that is held counts as used
        self.gateway.host.tasks().spawn(async move {
            while let Some(access) = session.upgrade().map(|session| session.access()) {
                tokio::select! {
                    () = access.revoked.cancelled() => {}
                    () = ended.cancelled() => return,
                    () = stop.cancelled() => return,
                }
                // The client may have gone on with another token of the same principal.
                if session.upgrade().is_none_or(|session| Arc::ptr_eq(&session.access(), &access)) {
                    gateway.sessions.end(id);
                    return;
                }
            }
        });
    }

    /// The session that a request without a body names; modern revisions have neither.
    fn legacy_session(
        &self,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> EarlyResponse<Option<(SessionId, Arc<Session>)>> {
        let revision = single(headers, &headers::PROTOCOL_VERSION).ok().flatten();
        match revision.and_then(|revision| revision.parse::<Revision>().ok()) {
            Some(revision) if !revision.features().has_sessions() => Ok(None),
            _ => self.session(headers, access),
        }
    }

    /// The session that a request names. An unknown one, or one of another principal, is answered with 404, so that the client
    /// starts a new one.
    fn session(
        &self,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> EarlyResponse<Option<(SessionId, Arc<Session>)>> {
        let Ok(named) = single(headers, &headers::SESSION_ID) else {
            let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Mcp-Session-Id is invalid");
            return early(StatusCode::BAD_REQUEST, None, &error);
        };
        let Some(named) = named else { return Ok(None) };
        let found = SessionId::parse(named).and_then(|id| Some((id, self.gateway.sessions.get(id, access)?)));
        if found.is_some() {
            return Ok(found);
        }
        let error = ErrorObject::new(
            ErrorCode::INVALID_REQUEST,
            "unknown session; send `initialize` to start a new one",
        );
        early(StatusCode::NOT_FOUND, None, &error)
    }
}

/// Whether a client can read a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Streams,
    Json,
}

const JSON: &str = "application/json";
/// How nearly every client says that it reads both.
const JSON_OR_STREAM: &str = "application/json, text/event-stream";

/// Only JSON is taken: a form or a text is what a page could send without asking.
fn check_content_type(headers: &HeaderMap) -> EarlyResponse<()> {
    // With two of them, a proxy may have looked at the other.
    let value = single(headers, &header::CONTENT_TYPE).ok().flatten().unwrap_or_default();
    if value == JSON {
        return Ok(());
    }
    let kind = value.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(JSON) {
        return Ok(());
    }
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Content-Type must be application/json");
    early(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error)
}

/// What the client can read. A client that says nothing reads JSON.
fn accepted(headers: &HeaderMap) -> EarlyResponse<Accepts> {
    let mut any = false;
    let mut json = false;
    let mut accepts = Accepts::Json;
    for value in headers.get_all(header::ACCEPT) {
        if value == JSON_OR_STREAM {
            return Ok(Accepts::Streams);
        }
        for part in value.to_str().unwrap_or_default().split(',') {
            any = true;
            match part.split(';').next().unwrap_or_default().trim() {
                "text/event-stream" => accepts = Accepts::Streams,
                JSON | "application/*" | "*/*" => json = true,
                _ => {}
            }
        }
    }
    if any && !json && accepts == Accepts::Json {
        let error = ErrorObject::new(
            ErrorCode::INVALID_REQUEST,
            "the client must accept application/json and text/event-stream",
        );
        return early(StatusCode::NOT_ACCEPTABLE, None, &error);
    }
    Ok(accepts)
}
