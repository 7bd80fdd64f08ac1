//! Captured messages, as plain data.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolbay_host::capture::{CapturedMessage, Direction, Hop, MessageKind};
use toolbay_protocol::RequestId;

use crate::millis;

/// How many bytes of messages one page has, roughly.
pub(crate) const PAGE: usize = 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct WantedMessages {
    /// The number of the first message that is wanted.
    pub(crate) since: Option<u64>,
    /// Whether to wait for one.
    #[serde(default)]
    pub(crate) follow: bool,
    /// Only what belongs to this server.
    pub(crate) server: Option<String>,
}

/// Messages, in the order in which they passed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessagePage {
    pub messages: Vec<MessageEntry>,
    /// Where to go on.
    pub next: u64,
    /// How many from the wanted number on are not kept any more.
    pub missed: u64,
    /// Whether messages are watched, and so kept.
    pub is_watched: bool,
}

/// One message, without the secrets in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageEntry {
    pub number: u64,
    /// Milliseconds since 1970.
    pub time_ms: u64,
    pub hop: Hop,
    pub direction: Direction,
    /// The client, as it calls itself.
    pub client: Option<String>,
    pub server: Option<String>,
    pub kind: MessageKind,
    /// That of the request, for a response.
    pub method: Option<String>,
    /// As JSON text.
    pub id: Option<String>,
    /// The id of the same request on the other hop, as JSON text.
    pub paired_id: Option<String>,
    /// Microseconds since the request, for a response.
    pub duration_us: Option<u64>,
    /// Bytes of the whole message.
    pub size: usize,
    /// Whether `text` is only the beginning.
    pub is_cut: bool,
    /// The message.
    pub text: String,
}

impl MessageEntry {
    /// When it passed.
    pub fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(self.time_ms)
    }
}

impl From<CapturedMessage> for MessageEntry {
    fn from(message: CapturedMessage) -> Self {
        let raw = |id: &Option<RequestId>| id.as_ref().map(|id| id.as_raw().to_owned());
        let owned = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            number: message.number,
            time_ms: millis(message.time),
            hop: message.hop,
            direction: message.direction,
            client: owned(&message.client),
            server: owned(&message.server),
            kind: message.kind,
            method: owned(&message.method),
            id: raw(&message.id),
            paired_id: raw(&message.paired_id),
            duration_us: message.duration.map(|time| time.as_micros().try_into().unwrap_or(u64::MAX)),
            size: message.size,
            is_cut: message.kept_size() < message.size,
            text: message.redacted_text(),
        }
    }
}
