//! HTTP+SSE of 2024-11-05: a stream of events for everything we say, and POSTs for everything the client says.
//!
//! Both together are a connection, so such a client is served as one on a pipe, in any revision.

use std::{collections::HashMap, sync::Arc};

use futures_util::stream::unfold;
use http::{HeaderMap, Request as HttpRequest, StatusCode};
use hyper::body::Incoming as HttpBody;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use toolbay_access::{Access, Principal};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Rope};
use toolbay_transport::{
    Connection, Incoming,
    http::{Body, event, keep_alive},
};

use crate::{
    connected_clients::ClientTransport,
    error,
    listener::{
        connection,
        http::{EarlyResponse, HttpListener, KEEP_ALIVE, accepted, check_content_type, early},
        response::{HttpResponse, empty, sse, too_many},
        send_queue::{self, AHEAD, ForwardEnd, QueueReader},
    },
    security::principal_usage::Limited,
    session::registry::SessionId,
};

impl HttpListener {
    /// Opens a client's stream. Its session ends with it.
    pub(super) fn open_sse(&self, headers: &HeaderMap, access: Arc<Access>) -> EarlyResponse<HttpResponse> {
        accepted(headers)?;
        let usage = self.usage(&access, Limited::Connections, None)?;
        let Some((inbox, incoming)) = self.gateway.sse_inboxes.open(access.principal.clone()) else {
            return Err(Box::new(too_many("too many streams; try again later", None)));
        };
        let (outgoing, texts) = mpsc::channel(AHEAD);
        let (sender, reader) = send_queue::channel(self.gateway.options.send_limits());
        let first = Rope::from(format!("event: endpoint\ndata: /messages?sessionId={}\n\n", inbox.id));
        let (gateway, stop) = (self.gateway.clone(), self.stop.clone());
        self.gateway.host.tasks().spawn(async move {
            let forward = async {
                if sender.forward(texts).await == ForwardEnd::Stuck {
                    tracing::warn!("a client does not read its stream on /sse; closing its connection");
                }
            };
            let client = gateway.clients.enter(ClientTransport::Sse, access, None);
            tokio::join!(connection::run(&gateway, Connection { outgoing, incoming }, client, stop), forward);
            drop((inbox, usage));
        });
        Ok(sse(events(first, reader)))
    }

    /// Takes a message of a client that has a stream; the response is sent there.
    pub(super) async fn message(
        &self,
        request: HttpRequest<HttpBody>,
        access: Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        let (head, body) = request.into_parts();
        check_content_type(&head.headers)?;
        let id = session_id(head.uri.query().unwrap_or_default());
        let unknown = || {
            let message = "unknown session; open a stream with GET /sse";
            early(StatusCode::NOT_FOUND, None, &ErrorObject::new(ErrorCode::INVALID_REQUEST, message))
        };
        let inbox = id.and_then(|id| self.gateway.sse_inboxes.find(id, &access.principal));
        let Some(inbox) = inbox else { return unknown() };
        let message = match Message::parse(self.read_body(body).await?) {
            Ok(message) => message,
            Err(why) => return early(StatusCode::BAD_REQUEST, None, &error::malformed(&why)),
        };
        use mpsc::error::SendTimeoutError::{Closed, Timeout};
        let patience = self.gateway.options.limits.body_timeout;
        match inbox.send_timeout(Incoming::Message(message), patience).await {
            Ok(()) => Ok(empty(StatusCode::ACCEPTED)),
            Err(Closed(_)) => unknown(),
            Err(Timeout(_)) => {
                Err(Box::new(too_many("too many messages are queued for this client; read its stream", None)))
            }
        }
    }
}

/// The `sessionId` of a query.
fn session_id(query: &str) -> Option<SessionId> {
    query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).and_then(SessionId::parse)
}

/// The stream: where to POST, then every message as an event.
fn events(first: Rope, reader: QueueReader) -> Body {
    Body::stream(unfold((Some(first), reader), |(first, mut reader)| async move {
        let text = match first {
            Some(first) => first,
            None => tokio::select! {
                text = reader.next(event) => text?,
                () = tokio::time::sleep(KEEP_ALIVE) => keep_alive(),
            },
        };
        Some((text, (None, reader)))
    }))
}

/// One inbox per open stream, under a random id.
#[derive(Debug)]
pub(crate) struct SseInboxes {
    limit: usize,
    by_id: Mutex<HashMap<SessionId, (Principal, mpsc::Sender<Incoming>)>>,
}

/// A inbox is there for as long as this is.
#[derive(Debug)]
pub(crate) struct SseInbox {
    pub(crate) id: SessionId,
    all: Arc<SseInboxes>,
}

impl SseInboxes {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, by_id: Mutex::default() })
    }

    /// A new inbox and what arrives in it, unless there are too many.
    pub(crate) fn open(
        self: &Arc<Self>,
        principal: Principal,
    ) -> Option<(SseInbox, mpsc::Receiver<Incoming>)> {
        let id = SessionId::random()?;
        let mut by_id = self.by_id.lock();
        if by_id.len() >= self.limit {
            return None;
        }
        let (messages, incoming) = mpsc::channel(Connection::QUEUE);
        by_id.insert(id, (principal, messages));
        Some((SseInbox { id, all: self.clone() }, incoming))
    }

    /// The inbox with that id, if it belongs to the principal who asks.
    pub(crate) fn find(&self, id: SessionId, principal: &Principal) -> Option<mpsc::Sender<Incoming>> {
        let by_id = self.by_id.lock();
        let (owner, inbox) = by_id.get(&id)?;
        (owner == principal).then(|| inbox.clone())
    }
}

impl Drop for SseInbox {
    fn drop(&mut self) {
        self.all.by_id.lock().remove(&self.id);
    }
}
