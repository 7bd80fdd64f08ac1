//! HTTP+SSE of 2024-11-05, client side: a server at a URL as a [`Connection`].
//!
//! # Theory of operation
//!
//! A GET opens a stream of events on which the server says everything it has to say; its first event names the endpoint
//! to which our messages are posted. One task owns both: the stream, and every running POST as a future, so a server that
//! responds to a POST late delays nothing else. A stream that was silent for long is checked with a `ping`.
//!
//! # Invariants
//!
//! - Messages are posted to the origin of the stream only, whatever the server names as its endpoint.
//! - When the stream breaks, the connection ends with [`Incoming::Lost`]: responses come on it only.
//!   It names the requests that certainly never arrived.

mod keepalive;
mod task;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CACHE_CONTROL},
};
use http_body_util::BodyExt;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::task::TaskTracker;

use crate::{
    Connection, Incoming,
    http::{
        Event, EventReader,
        client::{
            HttpError, Target,
            decompress::DecompressedBody,
            error::reason,
            origin_client::{OriginClient, Purpose},
            response::{EVENT_STREAM, explain, is_stream, media_type},
            target::{resolve, same_origin, shown},
        },
    },
    outgoing::unsent,
};

/// A connection to a server at a URL. Opens its stream at once; what is sent meanwhile waits.
///
/// Dropping the connection ends the stream once what was queued is posted; dropped before the stream stands, nothing is
/// posted.
pub fn connect(target: Target, tasks: &TaskTracker) -> Connection {
    let (outgoing, texts) = mpsc::channel(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    let max_running = target.max_running;
    let caller = OriginClient::new(target, Purpose::Requests, tasks);
    tasks.spawn(async move {
        let opened = tokio::select! {
            opened = open(&caller, caller.target().max_message) => opened,
            () = messages.closed() => return,
        };
        match opened {
            Ok(stream) => task::run(stream, max_running, texts, messages).await,
            Err(why) => {
                let unsent = unsent(Vec::new(), texts).await;
                let _ = messages.send(Incoming::Lost { why, unsent }).await; // the receiver may be gone
            }
        }
    });
    Connection { outgoing, incoming }
}

/// How long a server may take to open its stream, and to name its endpoint on it.
const OPEN: Duration = Duration::from_secs(15);

/// An open stream, whose endpoint is known.
struct OpenStream {
    url: Arc<str>,
    endpoint: Arc<OriginClient>,
    events: StreamEvents,
}

impl OpenStream {
    /// Returns the data of the next message; nothing for a comment, which shows only that the server is there. Cancel safe.
    async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        while let Some(event) = self.events.ready.pop_front() {
            if event.is_message() {
                return Ok(Some(event.data));
            }
        }
        self.events.more(&self.url).await?;
        Ok(None)
    }
}

/// Events as they arrive.
struct StreamEvents {
    body: DecompressedBody,
    reader: EventReader,
    /// What was read and not yet taken.
    ready: VecDeque<Event>,
}

impl StreamEvents {
    /// Reads the next piece of the stream.
    async fn more(&mut self, url: &Arc<str>) -> Result<(), HttpError> {
        let piece = match self.body.frame().await {
            None => {
                return Err(HttpError::Closed { url: url.clone(), reason: "its stream ended".to_owned() });
            }
            Some(Err(error)) => return Err(HttpError::Broken { url: url.clone(), reason: reason(&*error) }),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        self.reader.push(&piece);
        loop {
            match self.reader.next_of_any_kind() {
                Ok(Some(event)) => self.ready.push_back(event),
                Ok(None) => return Ok(()),
                Err(long) => return Err(HttpError::TooLong { url: url.clone(), limit: long.limit }),
            }
        }
    }
}

/// Opens the stream and waits for its endpoint.
async fn open(caller: &OriginClient, max_message: usize) -> Result<OpenStream, HttpError> {
    let slow = |_| HttpError::Slow { url: caller.shown(), after: OPEN };
    timeout(OPEN, opened(caller, max_message)).await.map_err(slow)?
}

async fn opened(caller: &OriginClient, max_message: usize) -> Result<OpenStream, HttpError> {
    let headers = HeaderMap::from_iter([
        (ACCEPT, HeaderValue::from_static(EVENT_STREAM)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]);
    let response = caller.send(Method::GET, headers, Bytes::new()).await?;
    let url = caller.shown();
    if !response.status().is_success() {
        return Err(explain(url, response).await.1);
    }
    if !is_stream(&response) {
        return Err(HttpError::ContentType { url, found: format!("`{}`", media_type(&response)) });
    }
    let reader = EventReader::new(max_message);
    let mut events = StreamEvents { body: response.into_body(), reader, ready: VecDeque::new() };
    let named = loop {
        match events.ready.pop_front() {
            Some(Event { kind, data }) if &kind[..] == b"endpoint" => break data,
            Some(Event { kind, .. }) => {
                let kind = if kind.is_empty() { "message".into() } else { String::from_utf8_lossy(&kind) };
                let reason = format!("its stream begins with an event `{kind}` instead of `endpoint`");
                return Err(HttpError::Garbled { url, reason });
            }
            None => events.more(&url).await?,
        }
    };
    let endpoint =
        endpoint(caller, &named).map_err(|reason| HttpError::Garbled { url: url.clone(), reason })?;
    Ok(OpenStream { url, endpoint: Arc::new(endpoint), events })
}

/// The endpoint that a server names; the error is the reason why it is not used.
fn endpoint(caller: &OriginClient, named: &[u8]) -> Result<OriginClient, String> {
    let base = caller.url();
    let named = String::from_utf8_lossy(named);
    let Some(url) = resolve(&base, named.trim()) else {
        return Err("the endpoint that it names for messages is not a valid URL".to_owned());
    };
    if !same_origin(&base, &url) {
        return Err(format!("it names {} for messages, which is another origin", shown(&url)));
    }
    Ok(caller.at(url))
}
