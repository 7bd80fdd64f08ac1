//! What kind of answer this is, and what a refusal says.

use std::{sync::Arc, time::Duration};

use http::{Response, header::CONTENT_TYPE};
use toolbay_protocol::Message;

use super::{HttpError, decompress::DecompressedBody};
use crate::http::read_body;

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// How long a refusal may take to explain itself, and how much of it is read.
const EXPLAIN: Duration = Duration::from_secs(5);
const MAX_EXPLANATION: usize = 64 * 1024;
/// How much of it people see.
const MAX_SHOWN: usize = 200;

/// What a refusal says: a message if it is one, and what people may see of it.
pub(crate) async fn explain(
    url: Arc<str>,
    response: Response<DecompressedBody>,
) -> (Option<Message>, HttpError) {
    let status = response.status();
    let text = read_body(response.into_body(), MAX_EXPLANATION, EXPLAIN).await.unwrap_or_default();
    let shown = String::from_utf8_lossy(&text);
    let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = match shown.char_indices().nth(MAX_SHOWN) {
        _ if shown.is_empty() => String::new(),
        Some((end, _)) => format!(": {}…", &shown[..end]),
        None => format!(": {shown}"),
    };
    let why = HttpError::Status { url, status, said };
    (Message::parse(text).ok(), why)
}

/// Whether it is a stream of events.
pub(crate) fn is_stream(response: &Response<DecompressedBody>) -> bool {
    response.status().is_success() && media_type(response) == EVENT_STREAM
}

/// Its media type in lower case, without parameters; empty when there is none.
pub(crate) fn media_type(response: &Response<DecompressedBody>) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
