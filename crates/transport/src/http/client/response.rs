//! What a response carries, message by message.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};
use toolbay_protocol::{IdRecovery, Message, ParseError, RequestId, Response, decode_string, parse_batch};

use crate::{
    Incoming, RejectedMessage,
    http::{
        EventReader,
        client::{
            HttpError,
            decompress::DecompressedBody,
            error::reason,
            session::{HttpSession, Negotiated},
        },
        read_body,
    },
};

/// How long a stream may go on behind its response: if it ends soon, its connection can be used again.
const AFTERMATH: Duration = Duration::from_secs(1);

/// The response to one request, or with no request the GET stream.
pub(super) struct ResponseStream<'a> {
    link: &'a HttpSession,
    about: Option<&'a RequestId>,
    events: EventReader,
    /// Whether the request needs nothing more.
    is_complete: bool,
    /// A session that begins with this response, and its id if it has one.
    begins: Option<Option<HeaderValue>>,
}

/// How a stream ended.
pub(super) struct StreamEnd {
    /// Whether anything came at all.
    pub(super) had_events: bool,
    pub(super) reason: String,
}

impl<'a> ResponseStream<'a> {
    pub(super) fn new(link: &'a HttpSession, about: Option<&'a RequestId>) -> Self {
        let events = EventReader::new(link.max_message());
        Self { link, about, events, is_complete: false, begins: None }
    }

    /// The response begins a session, if it is a good one.
    pub(super) fn begins_session(&mut self, id: Option<HeaderValue>) {
        self.begins = Some(id);
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The event behind which the stream can be taken up, if it can, and how long to wait before that.
    pub(super) fn last_event(&self) -> Option<&str> {
        self.events.last_id()
    }

    pub(super) fn retry(&self) -> Option<Duration> {
        self.events.retry()
    }

    /// Takes one JSON text; where batches exist, it may be one.
    pub(super) async fn take_text(&mut self, text: Bytes) {
        let has_batches =
            self.link.agreed().revision.is_some_and(|revision| revision.features().has_batches());
        let messages = match has_batches && text.trim_ascii_start().starts_with(b"[") {
            true => parse_batch(text.clone()),
            false => Ok(vec![Message::parse(text.clone())]),
        };
        match messages {
            Ok(messages) => {
                for message in messages {
                    self.take(message, &text).await;
                }
            }
            Err(why) => self.take(Err(why), &text).await,
        }
    }

    /// Takes a JSON text that is the whole body: whatever it is, it belongs to our request.
    pub(super) async fn take_only(&mut self, text: Bytes) {
        match (Message::parse(text.clone()), self.about) {
            (Ok(Message::Response(response)), Some(id)) if response.id.is_none() => {
                self.on_response(under(&response, id)).await;
            }
            (Err(why), Some(id)) if why != ParseError::Batch => {
                self.refuse(RejectedMessage::new(why, Some(id.clone()), &text)).await;
            }
            _ => self.take_text(text).await,
        }
    }

    /// The response was too long to be taken.
    pub(super) async fn too_long(&mut self, limit: usize) {
        self.refuse(RejectedMessage::new(ParseError::TooLong { limit }, self.about.cloned(), b"")).await;
    }

    /// Takes a stream of events until it ends, or for a moment longer than our request needs it.
    pub(super) async fn take_stream(&mut self, mut body: DecompressedBody) -> StreamEnd {
        let _open = self.link.opened();
        let mut had_events = false;
        let mut until = None;
        self.events.resume();
        loop {
            if self.is_complete && self.about.is_some() {
                until.get_or_insert_with(|| Instant::now() + AFTERMATH);
            }
            let frame = match (until, self.link.stream_idle()) {
                (Some(until), _) => timeout_at(until, body.frame()).await.unwrap_or(None),
                (None, None) => body.frame().await,
                (None, Some(limit)) => match timeout(limit, body.frame()).await {
                    Ok(frame) => frame,
                    Err(_) => {
                        let reason =
                            format!("nothing came for {} s (`stream_idle_timeout`)", limit.as_secs_f32());
                        return StreamEnd { had_events, reason };
                    }
                },
            };
            let data = match frame {
                None => return StreamEnd { had_events, reason: "it ended".to_owned() },
                Some(Err(error)) => return StreamEnd { had_events, reason: reason(&*error) },
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            };
            had_events = true;
            self.link.hears();
            self.events.push(&data);
            loop {
                match self.events.next_event() {
                    Ok(Some(text)) => self.take_text(text).await,
                    Ok(None) => break,
                    Err(long) => {
                        self.too_long(long.limit).await;
                        // Taking the stream up before this event would bring it again.
                        self.events = EventReader::new(long.limit);
                        return StreamEnd { had_events, reason: long.to_string() };
                    }
                }
            }
        }
    }

    async fn take(&mut self, message: Result<Message, ParseError>, text: &Bytes) {
        match (message, self.about) {
            (Ok(Message::Response(response)), _) => self.on_response(response).await,
            (Ok(message), Some(id)) => self.link.deliver(Incoming::About(id.clone(), message)).await,
            (Ok(message), None) => self.link.deliver(Incoming::Message(message)).await,
            (Err(why), _) => {
                let mut id = IdRecovery::default();
                id.feed(text);
                self.refuse(RejectedMessage::new(why, id.into_id(), text)).await;
            }
        }
    }

    async fn on_response(&mut self, response: Box<Response>) {
        self.is_complete |= response.id.as_ref() == self.about;
        if let Some(session) = self.begins.take()
            && let Some(version) = response.result_field("protocolVersion")
        {
            let version = decode_string(&response.text[version.range()]).unwrap_or_default();
            // Before the message is passed on, so that the next request is of the session.
            self.link.agree(Negotiated { revision: version.parse().ok(), session });
        }
        self.link.deliver(Incoming::Message(Message::Response(response))).await;
    }

    async fn refuse(&mut self, refusal: RejectedMessage) {
        self.is_complete |= refusal.id.as_ref() == self.about;
        self.link.deliver(Incoming::Refused(refusal)).await;
    }
}

/// The same response under another id.
pub(crate) fn under(response: &Response, id: &RequestId) -> Box<Response> {
    let text = response.edited(response.with_id(id)).into_bytes();
    match Message::parse(text) {
        Ok(Message::Response(response)) => response,
        _ => Box::new(response.clone()),
    }
}

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// How long a refusal may take to explain itself, and how much of it is read.
const EXPLAIN: Duration = Duration::from_secs(5);
const MAX_EXPLANATION: usize = 64 * 1024;
/// How much of it people see.
const MAX_SHOWN: usize = 200;

/// What a refusal says: a message if it is one, and what people may see of it.
pub(crate) async fn explain(
    url: Arc<str>,
    response: http::Response<DecompressedBody>,
) -> (Option<Message>, HttpError) {
    let status = response.status();
    let text = read_body(response.into_body(), MAX_EXPLANATION, EXPLAIN).await.unwrap_or_default();
    let shown = String::from_utf8_lossy(&text);
    let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = match shown.char_indices().nth(MAX_SHOWN) {
        _ if shown.is_empty() => String::new(),
        Some((end, _)) => format!(": {}…", &shown[..end]),
        None => format!(": {shown}"),
    };
    let why = HttpError::Status { url, status, body };
    (Message::parse(text).ok(), why)
}

/// Whether it is a stream of events.
pub(crate) fn is_stream(response: &http::Response<DecompressedBody>) -> bool {
    response.status().is_success() && media_type(response) == EVENT_STREAM
}

/// Its media type in lower case, without parameters; empty when there is none.
pub(crate) fn media_type(response: &http::Response<DecompressedBody>) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
