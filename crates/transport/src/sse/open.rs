//! Opening the stream, up to the event that names the endpoint.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CACHE_CONTROL},
};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::http::{
    Event, EventReader,
    client::{
        NoAnswer,
        caller::Caller,
        explain::{EVENT_STREAM, explain, is_stream, media_type},
        failure::reason,
        target::{resolve, same_origin, shown},
        unpack::Arriving,
    },
};

/// How long a server may take to open its stream, and to name its endpoint on it.
const OPEN: Duration = Duration::from_secs(15);

/// A stream whose server said where our messages go.
pub(super) struct Stream {
    pub(super) url: Arc<str>,
    pub(super) endpoint: Arc<Caller>,
    events: Events,
}

impl Stream {
    /// The data of the next message; nothing for a sign of life. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, NoAnswer> {
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
struct Events {
    body: Arriving,
    reader: EventReader,
    /// What was read and not yet taken.
    ready: VecDeque<Event>,
}

impl Events {
    /// Reads the next piece of the stream.
    async fn more(&mut self, url: &Arc<str>) -> Result<(), NoAnswer> {
        let piece = match self.body.frame().await {
            None => return Err(NoAnswer::Closed { url: url.clone(), reason: "its stream ended".to_owned() }),
            Some(Err(error)) => return Err(NoAnswer::Broken { url: url.clone(), reason: reason(&*error) }),
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        self.reader.push(&piece);
        loop {
            match self.reader.next_of_any_kind() {
                Ok(Some(event)) => self.ready.push_back(event),
                Ok(None) => return Ok(()),
                Err(long) => return Err(NoAnswer::TooLong { url: url.clone(), limit: long.limit }),
            }
        }
    }
}

/// Opens the stream and waits for its endpoint.
pub(super) async fn open(caller: &Caller, max_message: usize) -> Result<Stream, NoAnswer> {
    let slow = |_| NoAnswer::Slow { url: caller.shown(), after: OPEN };
    timeout(OPEN, opened(caller, max_message)).await.map_err(slow)?
}

async fn opened(caller: &Caller, max_message: usize) -> Result<Stream, NoAnswer> {
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
        return Err(NoAnswer::ContentType { url, found: format!("`{}`", media_type(&response)) });
    }
    let reader = EventReader::new(max_message);
    let mut events = Events { body: response.into_body(), reader, ready: VecDeque::new() };
    let named = loop {
        match events.ready.pop_front() {
            Some(Event { kind, data }) if &kind[..] == b"endpoint" => break data,
            Some(Event { kind, .. }) => {
                let kind = if kind.is_empty() { "message".into() } else { String::from_utf8_lossy(&kind) };
                let reason = format!("its stream begins with an event `{kind}` instead of `endpoint`");
                return Err(NoAnswer::Garbled { url, reason });
            }
            None => events.more(&url).await?,
        }
    };
    let endpoint =
        endpoint(caller, &named).map_err(|reason| NoAnswer::Garbled { url: url.clone(), reason })?;
    Ok(Stream { url, endpoint: Arc::new(endpoint), events })
}

/// The endpoint that a server names; the error is the reason why it is not used.
fn endpoint(caller: &Caller, named: &[u8]) -> Result<Caller, String> {
    let base = caller.url();
    let named = String::from_utf8_lossy(named);
    let Some(url) = resolve(&base, named.trim()) else {
        return Err("the endpoint that it names for our messages is no URL".to_owned());
    };
    if !same_origin(&base, &url) {
        return Err(format!("it wants our messages sent to {}, which is another origin", shown(&url)));
    }
    Ok(caller.at(url))
}
