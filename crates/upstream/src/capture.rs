//! The messages that pass the hub, for people who watch.
//!
//! Both hops lead here: messages between clients and the hub, and messages between the hub and its servers. Without a
//! watcher a message costs one relaxed load and nothing is kept.

mod ring;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, time::Instant};
use toolbay_protocol::{
    Message, Request, RequestId,
    redact::{self, KnownSecrets},
};

use self::ring::CaptureRing;

/// The target of messages in the log.
const TARGET: &str = "toolbay::messages";
/// How much of a message the log shows, at the levels `debug` and `trace`.
const LOGGED: usize = 1024;
const LOGGED_AT_TRACE: usize = 16 * 1024;
/// The longest message that is kept whole.
const LONGEST: usize = 8 * 1024 * 1024;
/// The longest name, method or id that is kept.
const LONGEST_NAME: usize = 256;

/// Where messages are captured. Clones are cheap and mean the same one.
#[derive(Debug, Clone)]
pub struct Capture {
    shared: Arc<CaptureInner>,
}

#[derive(Debug)]
struct CaptureInner {
    /// Whether messages are watched.
    is_on: AtomicBool,
    /// Whether the log does.
    logs: bool,
    connections: AtomicU64,
    kept: Mutex<CaptureRing>,
    /// The number that the next message will get.
    next: watch::Sender<u64>,
}

/// Between whom a message passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hop {
    /// A client and the hub.
    Client,
    /// The hub and a server.
    Server,
}

/// The direction of a message, from the hub's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Received,
    Sent,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    Request,
    Notification,
    Result,
    Error,
    /// Nothing that could be read.
    Malformed,
}

impl MessageKind {
    /// Its name, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Result => "result",
            Self::Error => "error",
            Self::Malformed => "malformed",
        }
    }
}

/// One connection on which messages pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(u64);

/// A message that passes.
#[derive(Debug)]
pub struct PassingMessage<'a> {
    /// Where it passes.
    pub connection: ConnectionId,
    /// Between whom.
    pub hop: Hop,
    /// Which way.
    pub direction: Direction,
    /// The client, where it is known.
    pub client: Option<&'a str>,
    /// The server, where it is known.
    pub server: Option<&'a str>,
    /// What the client sent, where the message is the hub's request to a server because of it.
    pub cause: Option<&'a Request>,
    /// The message.
    pub text: Bytes,
}

/// A message that has passed.
#[derive(Debug, Clone)]
pub struct CapturedMessage {
    /// Without gaps.
    pub number: u64,
    pub time: SystemTime,
    pub hop: Hop,
    pub direction: Direction,
    pub client: Option<Arc<str>>,
    pub server: Option<Arc<str>>,
    pub kind: MessageKind,
    /// That of the request, for a response.
    pub method: Option<Arc<str>>,
    /// As JSON text.
    pub id: Option<RequestId>,
    /// The id of the same request on the other hop.
    pub paired_id: Option<RequestId>,
    /// Since the request, for a response.
    pub duration: Option<Duration>,
    /// Of the whole message.
    pub size: usize,
    /// The message; its beginning only, if it is longer than 8 MiB.
    text: Bytes,
    /// Values that are never shown.
    known_secrets: KnownSecrets,
}

impl CapturedMessage {
    /// The message without the secrets in it.
    pub fn redacted_text(&self) -> String {
        redact::json(&self.known_secrets.hide(&String::from_utf8_lossy(&self.text)))
    }

    /// How many bytes of it are kept.
    pub fn kept_size(&self) -> usize {
        self.text.len()
    }
}

impl Default for Capture {
    fn default() -> Self {
        Self::new(KnownSecrets::default())
    }
}

impl Capture {
    /// Creates a capture without watchers. Messages are logged if the current subscriber wants them, without `known_secrets`.
    pub fn new(known_secrets: KnownSecrets) -> Self {
        let logs = tracing::enabled!(target: TARGET, tracing::Level::DEBUG);
        let shared = CaptureInner {
            is_on: AtomicBool::new(logs),
            logs,
            connections: AtomicU64::new(0),
            kept: Mutex::new(CaptureRing::new(known_secrets)),
            next: watch::Sender::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A connection that is no other.
    pub fn connection(&self) -> ConnectionId {
        ConnectionId(self.shared.connections.fetch_add(1, Relaxed))
    }

    /// Whether messages are captured. Without that, none need be assembled.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.shared.is_on.load(Relaxed)
    }

    /// Takes note of a message.
    pub fn record(&self, passing: PassingMessage<'_>) {
        if !self.is_on() {
            return;
        }
        let mut kept = self.shared.kept.lock();
        let message = kept.understand(&passing, Instant::now());
        if self.shared.logs {
            log(&message, &passing.text);
        }
        if kept.watchers > 0 {
            kept.push(message, Instant::now());
            self.shared.next.send_replace(kept.next());
        }
    }

    /// Keeps messages until the returned value is dropped; with the last of them, all are forgotten.
    pub fn watch(&self) -> CaptureSubscription {
        let mut kept = self.shared.kept.lock();
        kept.watchers += 1;
        self.shared.is_on.store(true, Relaxed);
        CaptureSubscription { capture: self.clone() }
    }

    /// Whether messages are kept.
    pub fn is_watched(&self) -> bool {
        self.shared.kept.lock().watchers > 0
    }

    /// The kept messages from number `since` on: as many as have `bytes` together, but at least one.
    pub fn since(&self, since: u64, bytes: usize) -> Vec<CapturedMessage> {
        self.shared.kept.lock().since(since, bytes, Instant::now())
    }

    /// The number that the next message will get, as it changes.
    pub fn next(&self) -> watch::Receiver<u64> {
        self.shared.next.subscribe()
    }
}

/// A watcher of captured messages.
#[derive(Debug)]
pub struct CaptureSubscription {
    capture: Capture,
}

impl Drop for CaptureSubscription {
    fn drop(&mut self) {
        let mut kept = self.capture.shared.kept.lock();
        kept.watchers -= 1;
        if kept.watchers == 0 {
            self.capture.shared.is_on.store(self.capture.shared.logs, Relaxed);
            kept.forget();
        }
    }
}

/// What a message shows by itself.
fn classify(text: Bytes) -> (MessageKind, Option<Arc<str>>, Option<RequestId>) {
    match Message::parse(text) {
        Ok(Message::Request(request)) => {
            (MessageKind::Request, Some(short(request.call.method()).into()), short_id(Some(&request.id)))
        }
        Ok(Message::Notification(notification)) => {
            (MessageKind::Notification, Some(short(notification.method()).into()), None)
        }
        Ok(Message::Response(response)) => {
            let kind = if response.error().is_some() { MessageKind::Error } else { MessageKind::Result };
            (kind, None, short_id(response.id.as_ref()))
        }
        Err(_) => (MessageKind::Malformed, None, None),
    }
}

/// As much of a name as is kept.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

fn short_id(id: Option<&RequestId>) -> Option<RequestId> {
    id.filter(|id| id.as_raw().len() <= LONGEST_NAME).cloned()
}

fn log(message: &CapturedMessage, text: &Bytes) {
    let from_to = match (message.hop, message.direction) {
        (Hop::Client, Direction::Received) => "client→hub",
        (Hop::Client, Direction::Sent) => "hub→client",
        (Hop::Server, Direction::Received) => "server→hub",
        (Hop::Server, Direction::Sent) => "hub→server",
    };
    let at_trace = tracing::enabled!(target: TARGET, tracing::Level::TRACE);
    let room = if at_trace { LOGGED_AT_TRACE } else { LOGGED };
    // Hidden before it is put together: a secret must not be cut so that it looks like none.
    let head = String::from_utf8_lossy(&text[..text.len().min(room)]);
    let mut body = redact::json(&message.known_secrets.hide(&head));
    if text.len() > room {
        body.push('…');
    }
    let (client, server) = (message.client.as_deref(), message.server.as_deref());
    let (method, id) = (message.method.as_deref(), message.id.as_ref().map(RequestId::as_raw));
    tracing::debug!(target: TARGET, client, server, method, id, size = message.size, "{from_to} {body}");
}
