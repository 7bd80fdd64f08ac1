//! The HTTP front: which request means what.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream::unfold;
use http::{HeaderMap, HeaderValue, Method, Request as HttpRequest, StatusCode, header};
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolbay_protocol::{
    ErrorCode, ErrorObject, Malformed, Message, Notification, Request, RequestId, Response, Revision, Rope,
    method, parse_batch,
};
use toolbay_transport::http::{Body, Respond, event, keep_alive, read_body};

use crate::{
    answer::{Answer, empty, final_answer, json, json_error, not_allowed, sse},
    client::{Client, identity},
    era::{self, Era},
    exchange::{Exchange, Final, Step},
    gateway::Gateway,
    guard::Guard,
    headers::{self, Unreadable, single},
    listen::{SessionStream, Subscription},
    reply,
    serve::Served,
    session::Session,
    sessions::SessionId,
    streams::{Reader, Resumed, Source, TooMany},
};

/// How often a quiet stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Clients on HTTP.
pub(crate) struct Door {
    gateway: Arc<Gateway>,
    guard: Guard,
    stop: CancellationToken,
    /// One permit for each subscription that there may be: they take as much as sessions.
    listening: Arc<Semaphore>,
}

/// Whether a client can read a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Streams,
    Json,
}

impl Respond for Door {
    async fn respond(&self, request: HttpRequest<Incoming>) -> Answer {
        if let Some(reason) = self.guard.refusal(request.uri(), request.headers()) {
            let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, format!("refused: {reason}"));
            return json_error(StatusCode::FORBIDDEN, None, &error);
        }
        match (request.uri().path(), request.method()) {
            ("/mcp" | "/", &Method::POST) => self.post(request).await.unwrap_or_else(|answer| *answer),
            ("/mcp", &Method::GET) => self.get(request.headers()).unwrap_or_else(|answer| *answer),
            ("/mcp", &Method::DELETE) => self.delete(request.headers()),
            ("/mcp", _) => not_allowed("POST, GET, DELETE"),
            ("/", _) => not_allowed("POST"),
            ("/health", &Method::GET | &Method::HEAD) => {
                json(StatusCode::OK, Bytes::from(self.gateway.health().to_string()).into())
            }
            ("/health", _) => not_allowed("GET"),
            _ => {
                let error = ErrorObject::new(
                    ErrorCode::INVALID_REQUEST,
                    "there is nothing here; try /mcp or /health",
                );
                json_error(StatusCode::NOT_FOUND, None, &error)
            }
        }
    }
}

/// What ends a request early is an answer too.
type Early<T> = Result<T, Box<Answer>>;

fn early<T>(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> Early<T> {
    Err(Box::new(json_error(status, id, error)))
}

impl Door {
    pub(crate) fn new(gateway: Arc<Gateway>, guard: Guard, stop: CancellationToken) -> Self {
        let listening = Arc::new(Semaphore::new(gateway.options.max_sessions));
        Self { gateway, guard, stop, listening }
    }

    async fn post(&self, request: HttpRequest<Incoming>) -> Early<Answer> {
        let (head, body) = request.into_parts();
        check_content_type(&head.headers)?;
        let accepts = accepted(&head.headers)?;
        let limits = &self.gateway.options.limits;
        let body = match read_body(body, limits.max_body, limits.body_timeout).await {
            Ok(body) => body,
            Err(error) => {
                let (status, error) = reply::body(&error);
                return early(status, None, &error);
            }
        };
        match Message::parse(body.clone()) {
            Ok(Message::Request(request)) => self.request(request, &head.headers, accepts).await,
            Ok(Message::Notification(notification)) => self.notification(&notification, &head.headers),
            Ok(Message::Response(response)) => self.response(&response, &head.headers),
            Err(Malformed::Batch) => self.batch(body, &head.headers).await,
            Err(why) => early(StatusCode::BAD_REQUEST, None, &reply::malformed(&why)),
        }
    }

    async fn request(&self, request: Box<Request>, headers: &HeaderMap, accepts: Accepts) -> Early<Answer> {
        let client = match self.client_of(&request, headers)? {
            Opened::Client(client) if accepts == Accepts::Json => client.without_events(),
            Opened::Client(client) => client,
            Opened::Introduced(answer) => return Ok(*answer),
        };
        let client = client.on_http();
        let modern = client.revision.is_modern();
        if modern && request.call.method() == method::TOOLS_CALL {
            self.check_params(&request, headers).await?;
        }
        let mut served = self.gateway.serve(&client, request.into());
        loop {
            return Ok(match served {
                Served::Known(known) => final_answer(known, modern),
                Served::Running(exchange) => self.run(exchange, &client, accepts).await,
                Served::Listening(subscription) => self.listen(*subscription),
                Served::Soon(answer) => final_answer(answer.await, modern),
                Served::Later(later) => {
                    served = later.serve(&self.gateway).await;
                    continue;
                }
            });
        }
    }

    /// Runs an exchange: JSON when the answer comes first, a stream of events when something else does.
    async fn run(&self, mut exchange: Box<Exchange>, client: &Client, accepts: Accepts) -> Answer {
        loop {
            let step = if accepts == Accepts::Streams {
                tokio::select! {
                    biased;
                    step = exchange.next() => Some(step),
                    () = tokio::time::sleep(KEEP_ALIVE) => None,
                }
            } else {
                Some(exchange.next().await)
            };
            let first = match step {
                Some(Step::Final(known)) => return final_answer(known, client.revision.is_modern()),
                Some(Step::Event(_)) if accepts == Accepts::Json => continue,
                Some(Step::Event(text)) => Some(text),
                None => None,
            };
            let Some(session) = &client.session else { return stream(exchange, first) };
            let source = Source::Request(exchange, first);
            let opened = session.streams.open(source, session, self.stop.clone(), self.gateway.host.tasks());
            return match opened {
                Ok(reader) => read(reader),
                Err(TooMany(Source::Request(exchange, first))) => stream(exchange, first),
                Err(TooMany(Source::Changes(..))) => unreachable!("it was a request"),
            };
        }
    }

    /// Finds out who asks, by the rules of the request's era.
    fn client_of(&self, request: &Request, headers: &HeaderMap) -> Early<Opened> {
        let bad = |error: &ErrorObject| json_error(StatusCode::BAD_REQUEST, Some(&request.id), error);
        match era::era_of(&request.call, headers).map_err(|error| Box::new(bad(&error)))? {
            Era::Modern => {
                era::check_meta(&request.call)
                    .and_then(|()| era::check_headers(request, headers))
                    .map_err(|error| Box::new(bad(&error)))?;
                let client = Client::of_request(Revision::LATEST, &request.call);
                Ok(Opened::Client(client))
            }
            Era::Legacy(_) if request.call.method() == method::INITIALIZE => {
                Ok(Opened::Introduced(Box::new(self.initialize(request)?)))
            }
            Era::Legacy(revision) => {
                let client = match self.session(headers)? {
                    Some((_, session)) => Client::of_session(session),
                    None => Client::unknown(revision),
                };
                Ok(Opened::Client(client))
            }
        }
    }

    /// Checks the headers that the tool of a call wants; a tool whose server is on its way up is waited for.
    async fn check_params(&self, request: &Request, headers: &HeaderMap) -> Early<()> {
        if let Some(arrival) = self.gateway.host.arrival(request) {
            Box::pin(arrival).await; // rare, and large
        }
        let name = request.call.string_param("name");
        let Some(mirrored) = name.and_then(|name| self.gateway.host.header_params(&name)) else {
            return Ok(());
        };
        era::check_params(request, &mirrored, headers)
            .or_else(|error| early(StatusCode::BAD_REQUEST, Some(&request.id), &error))
    }

    fn initialize(&self, request: &Request) -> Early<Answer> {
        let session = open_session(&request.call)
            .or_else(|error| early(StatusCode::BAD_REQUEST, Some(&request.id), &error))?;
        let result = self.gateway.introduction(session.revision);
        let Some(id) = self.gateway.sessions.add(session) else {
            return Err(Box::new(too_many("sessions", &request.id)));
        };
        let mut answer = json(StatusCode::OK, toolbay_protocol::result(&request.id, &result).into());
        if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
            answer.headers_mut().insert(headers::SESSION_ID, value);
        }
        Ok(answer)
    }

    fn notification(&self, notification: &Notification, headers: &HeaderMap) -> Early<Answer> {
        if let Some((_, session)) = self.session(headers)? {
            session.touch();
            if notification.method() == method::CANCELLED {
                let id = notification.param("requestId").map(|span| notification.raw(span));
                if let Some(id) = id.and_then(|id| RequestId::from_raw(id.as_bytes())) {
                    session.cancel(&id);
                }
            }
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// A client's answer to a question of a server.
    fn response(&self, response: &Response, headers: &HeaderMap) -> Early<Answer> {
        if let Some((_, session)) = self.session(headers)? {
            session.answered(response);
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// Batches exist in 2025-03-26 only. Each element is judged alone; answers come in the order of the requests.
    async fn batch(&self, body: Bytes, headers: &HeaderMap) -> Early<Answer> {
        let session = self.session(headers)?.map(|(_, session)| session);
        let named = single(headers, &headers::PROTOCOL_VERSION).ok().flatten();
        let revision = match (&session, named) {
            (Some(session), _) => Some(session.revision),
            (None, None) => Some(Revision::V2025_03_26),
            (None, Some(named)) => named.parse().ok(),
        };
        if revision != Some(Revision::V2025_03_26) {
            return early(StatusCode::BAD_REQUEST, None, &reply::malformed(&Malformed::Batch));
        }
        let messages = match parse_batch(body) {
            Ok(messages) => messages,
            Err(why) => return early(StatusCode::BAD_REQUEST, None, &reply::malformed(&why)),
        };
        let client = session.map_or_else(|| Client::unknown(Revision::V2025_03_26), Client::of_session);
        // Whatever belongs to one of its requests would reach the client only with all the answers.
        let client = client.without_events();
        let mut served = Vec::new();
        for message in messages {
            match message {
                Ok(Message::Request(request)) if request.call.method() == method::INITIALIZE => {
                    let error =
                        ErrorObject::new(ErrorCode::INVALID_REQUEST, "`initialize` must not be in a batch");
                    served.push(Served::Known(Final::error(Some(&request.id), &error)));
                }
                Ok(Message::Request(request)) => served.push(self.gateway.serve(&client, request.into())),
                Ok(Message::Notification(notification)) => {
                    self.notification(&notification, headers)?;
                }
                Ok(Message::Response(response)) => {
                    self.response(&response, headers)?;
                }
                Err(why) => served.push(Served::Known(Final::error(None, &reply::malformed(&why)))),
            }
        }
        if served.is_empty() {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        let ends = served.into_iter().map(|served| last_step(&self.gateway, served));
        let answers = futures_util::future::join_all(ends).await;
        let mut text = Vec::from(&b"["[..]);
        for (index, answer) in answers.into_iter().flatten().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&answer.text.into_bytes());
        }
        text.push(b']');
        Ok(json(StatusCode::OK, Bytes::from(text).into()))
    }

    /// The stream of a session for what belongs to no request.
    fn get(&self, headers: &HeaderMap) -> Early<Answer> {
        if accepted(headers)? == Accepts::Json {
            let error =
                ErrorObject::new(ErrorCode::INVALID_REQUEST, "the client must accept text/event-stream");
            return early(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let Some((_, session)) = self.legacy_session(headers)? else {
            return Ok(not_allowed("POST"));
        };
        session.touch();
        let resumed = match single(headers, &headers::LAST_EVENT_ID) {
            Ok(last_event) => last_event.map(|last_event| session.streams.resume(last_event)),
            Err(Unreadable) => Some(Resumed::Nothing),
        };
        match resumed {
            Some(Resumed::Rest(reader)) => return Ok(read(reader)),
            Some(Resumed::Nothing) => {
                let message = "nothing is kept of the stream with that event";
                let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
                return early(StatusCode::BAD_REQUEST, None, &error);
            }
            Some(Resumed::NewChanges) | None => {}
        }
        let replaced = session.take_stream();
        let source = Source::Changes(SessionStream::open(&self.gateway.host, session.clone()), replaced);
        match session.streams.open(source, &session, self.stop.clone(), self.gateway.host.tasks()) {
            Ok(reader) => Ok(read(reader)),
            Err(TooMany(_)) => {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "too many streams of this session");
                early(StatusCode::TOO_MANY_REQUESTS, None, &error)
            }
        }
    }

    fn listen(&self, subscription: Subscription) -> Answer {
        let Ok(permit) = self.listening.clone().try_acquire_owned() else {
            return too_many("subscriptions", subscription.id());
        };
        let state = (Some(subscription), self.stop.clone(), permit);
        sse(Body::stream(unfold(state, |(subscription, stop, permit)| async move {
            let mut subscription = subscription?;
            let text = tokio::select! {
                message = subscription.next() => message.map(event),
                () = tokio::time::sleep(KEEP_ALIVE) => Some(keep_alive()),
                () = stop.cancelled() => None,
            };
            Some(match text {
                Some(text) => (text, (Some(subscription), stop, permit)),
                None => (event(subscription.farewell()), (None, stop, permit)),
            })
        })))
    }

    fn delete(&self, headers: &HeaderMap) -> Answer {
        match self.legacy_session(headers) {
            Ok(Some((id, _))) => {
                self.gateway.sessions.end(id);
                empty(StatusCode::OK)
            }
            Ok(None) => not_allowed("POST"),
            Err(answer) => *answer,
        }
    }

    /// The session that a request without a body names; the stateless era has neither.
    fn legacy_session(&self, headers: &HeaderMap) -> Early<Option<(SessionId, Arc<Session>)>> {
        let revision = single(headers, &headers::PROTOCOL_VERSION).ok().flatten();
        match revision.and_then(|revision| revision.parse().ok()) {
            Some(revision) if Revision::is_modern(revision) => Ok(None),
            _ => self.session(headers),
        }
    }

    /// The session that a request names. One that we do not know answers 404, so that the client starts anew.
    fn session(&self, headers: &HeaderMap) -> Early<Option<(SessionId, Arc<Session>)>> {
        let Ok(named) = single(headers, &headers::SESSION_ID) else {
            let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Mcp-Session-Id cannot be read");
            return early(StatusCode::BAD_REQUEST, None, &error);
        };
        let Some(named) = named else { return Ok(None) };
        let found = SessionId::parse(named).and_then(|id| Some((id, self.gateway.sessions.get(id)?)));
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

/// There is no room for another client of a kind; soon there may be.
fn too_many(what: &str, id: &RequestId) -> Answer {
    let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("too many {what}; try again later"));
    let mut answer = json_error(StatusCode::TOO_MANY_REQUESTS, Some(id), &error);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
    answer
}

enum Opened {
    Client(Client),
    /// It was `initialize`, and this is the answer.
    Introduced(Box<Answer>),
}

/// A session for a client that sent `initialize`.
pub(crate) fn open_session(call: &Notification) -> Result<Arc<Session>, ErrorObject> {
    let wanted = call.string_param("protocolVersion").ok_or_else(|| {
        ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.protocolVersion` is missing or not a string")
    })?;
    // A revision we do not know, or that has no handshake, is answered with the newest that has one.
    let revision = match wanted.parse::<Revision>() {
        Ok(revision) if !revision.is_modern() => revision,
        _ => Revision::LATEST_LEGACY,
    };
    let text = |name| call.param(name).map(|span| Bytes::copy_from_slice(call.bytes(span))); // outlives the request
    Ok(Session::new(revision, identity(revision, text("clientInfo"), text("capabilities"))))
}

/// What a client reads that can come back.
fn read(reader: Reader) -> Answer {
    sse(Body::stream(unfold(reader, |mut reader| async move {
        let text = tokio::select! {
            text = reader.next() => text?,
            () = tokio::time::sleep(KEEP_ALIVE) => keep_alive(),
        };
        Some((text, reader))
    })))
}

/// The events of a request, for a client that cannot come back: when it goes away, the request is cancelled.
fn stream(exchange: Box<Exchange>, first: Option<Rope>) -> Answer {
    let first = Some(first.map_or_else(keep_alive, event));
    sse(Body::stream(unfold((first, Some(exchange)), |(first, exchange)| async move {
        if let Some(first) = first {
            return Some((first, (None, exchange)));
        }
        let mut exchange = exchange?;
        let step = tokio::select! {
            step = exchange.next() => step,
            () = tokio::time::sleep(KEEP_ALIVE) => return Some((keep_alive(), (None, Some(exchange)))),
        };
        Some(match step {
            Step::Event(text) => (event(text), (None, Some(exchange))),
            Step::Final(known) => (event(known.text), (None, None)),
        })
    })))
}

/// The end of a request in a batch; what happens before is left out.
async fn last_step(gateway: &Arc<Gateway>, mut served: Served) -> Option<Final> {
    loop {
        match served {
            Served::Known(known) => return Some(known),
            Served::Listening(_) => return None,
            Served::Soon(answer) => return Some(answer.await),
            Served::Later(later) => served = later.serve(gateway).await,
            Served::Running(mut exchange) => loop {
                if let Step::Final(known) = exchange.next().await {
                    return Some(known);
                }
            },
        }
    }
}

fn check_content_type(headers: &HeaderMap) -> Early<()> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Content-Type must be application/json");
    early(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, &error)
}

/// What the client can read. A client that says nothing reads JSON.
fn accepted(headers: &HeaderMap) -> Early<Accepts> {
    let mut any = false;
    let mut json = false;
    let mut accepts = Accepts::Json;
    for value in headers.get_all(header::ACCEPT) {
        for part in value.to_str().unwrap_or_default().split(',') {
            any = true;
            match part.split(';').next().unwrap_or_default().trim() {
                "text/event-stream" => accepts = Accepts::Streams,
                "application/json" | "application/*" | "*/*" => json = true,
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
