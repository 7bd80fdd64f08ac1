//! Captures messages between clients and the hub, for `toolbay inspect`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use toolbay_host::{
    Host,
    capture::{ConnectionId, Direction, Hop, PassingMessage},
};
use toolbay_protocol::{Message, Rope, ServerName, parse_batch};
use toolbay_transport::{Outgoing, http::Body};

use crate::{
    connected_clients::{self, Clients},
    listener::response::HttpResponse,
    session::Session,
};

/// One connection of a client, or one request over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct ClientCapture {
    host: Host,
    connection: ConnectionId,
    client: CapturedClient,
}

/// Where the name of the client is found.
#[derive(Debug, Clone)]
pub(crate) enum CapturedClient {
    Connected(Arc<Clients>, u64),
    Session(Arc<Session>),
    Named(Option<Arc<str>>),
}

impl ClientCapture {
    pub(crate) fn new(host: &Host, client: CapturedClient) -> Self {
        Self { host: host.clone(), connection: host.capture().connection(), client }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.host.capture().is_on()
    }

    pub(crate) fn received(&self, message: &Message) {
        if !self.is_on() {
            return;
        }
        let server = match message {
            Message::Request(request) => self.host.server_of(request),
            Message::Notification(_) | Message::Response(_) => None,
        };
        self.record(Direction::Received, message.text().clone(), server.as_ref());
    }

    /// Something that came and is no message by itself.
    pub(crate) fn received_text(&self, text: Bytes) {
        if !self.is_on() {
            return;
        }
        match parse_batch(text.clone()) {
            Ok(messages) => messages.iter().flatten().for_each(|message| self.received(message)),
            Err(_) => self.record(Direction::Received, text, None),
        }
    }

    /// The beginning of something that could not be read.
    pub(crate) fn received_excerpt(&self, excerpt: &str) {
        if self.is_on() {
            self.record(Direction::Received, Bytes::copy_from_slice(excerpt.as_bytes()), None);
        }
    }

    pub(crate) fn sent(&self, text: &Rope) {
        if self.is_on() {
            self.sent_text(text.clone().into_bytes());
        }
    }

    /// Captures the messages of an HTTP response.
    pub(crate) fn capture_response(self, response: HttpResponse) -> HttpResponse {
        response.map(|body| match body {
            Body::Full(pieces) => {
                if self.is_on() && !pieces.is_empty() {
                    let pieces: Vec<Bytes> = pieces.iter().rev().cloned().collect();
                    self.sent_text(pieces.concat().into());
                }
                Body::Full(pieces)
            }
            Body::Stream(events, _) => Body::stream(events.inspect(move |event| self.sent_event(event))),
        })
    }

    fn sent_event(&self, event: &Rope) {
        if self.is_on() {
            let event = event.clone().into_bytes();
            for line in event.split(|byte| *byte == b'\n') {
                if let Some(data) = line.strip_prefix(b"data: ").filter(|data| !data.is_empty()) {
                    self.sent_text(event.slice_ref(data));
                }
            }
        }
    }

    fn sent_text(&self, text: Bytes) {
        match parse_batch(text.clone()) {
            Ok(messages) => {
                for message in messages.iter().flatten() {
                    self.record(Direction::Sent, message.text().clone(), None);
                }
            }
            Err(_) => self.record(Direction::Sent, text, None),
        }
    }

    fn record(&self, direction: Direction, text: Bytes, server: Option<&ServerName>) {
        let client = match &self.client {
            CapturedClient::Connected(clients, id) => clients.name(*id),
            CapturedClient::Session(session) => connected_clients::name_of(session.identity().0.info()),
            CapturedClient::Named(name) => name.as_deref().map(str::to_owned),
        };
        self.host.capture().record(PassingMessage {
            connection: self.connection,
            hop: Hop::Client,
            direction,
            client: client.as_deref(),
            server: server.map(ServerName::as_str),
            cause: None,
            text,
        });
    }
}

/// Sends messages to a client. Every request has one, so a clone costs one reference count.
#[derive(Debug, Clone)]
pub(crate) struct ClientSender {
    shared: Arc<(mpsc::Sender<Outgoing>, ClientCapture)>,
}

/// The client does not read any more.
#[derive(Debug)]
pub(crate) struct ClientGone;

impl ClientSender {
    pub(crate) fn new(outgoing: mpsc::Sender<Outgoing>, capture: ClientCapture) -> Self {
        Self { shared: Arc::new((outgoing, capture)) }
    }

    pub(crate) fn capture(&self) -> &ClientCapture {
        &self.shared.1
    }

    /// Sends a message, once there is room.
    pub(crate) async fn send(&self, text: Rope) -> Result<(), ClientGone> {
        let (outgoing, capture) = &*self.shared;
        capture.sent(&text);
        outgoing.send(Outgoing::to_client(text)).await.map_err(|_| ClientGone)
    }
}
