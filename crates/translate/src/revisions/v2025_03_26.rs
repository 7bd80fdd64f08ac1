//! 2024-11-05 → 2025-03-26: audio.
//!
//! Tool annotations, the `message` of progress and the `completions` capability are overlooked by older readers.
//! Batches, which only 2025-03-26 has, are the transport's business.

use bytes::Bytes;
use toolbay_protocol::{Response, method};

use super::RevisionStep;
use crate::{
    content::{decoded_len, into_text, replace_blocks},
    json::{Object, changed, mapped},
    server_request::UnsupportedServerRequest,
};

pub(super) struct Changes;

const AUDIO: &str = "\"audio\"";

impl RevisionStep for Changes {
    fn response_for_older(&self, response: &Response, method: &str) -> Option<Bytes> {
        replace_blocks(response, method, AUDIO, audio_as_resource)
    }

    fn server_request_for_older(
        &self,
        method: &str,
        params: &mut Object<'_>,
        _: &str,
    ) -> Result<(), UnsupportedServerRequest> {
        if method == method::SAMPLE {
            params.change("messages", |messages| {
                mapped(messages, |message| {
                    changed(message, |message| message.change("content", audio_as_text))
                })
            });
        }
        Ok(())
    }

    fn client_response_for_older(&self, method: &str, response: &mut Object<'_>) {
        if method == method::SAMPLE {
            response.change("content", audio_as_text);
        }
    }
}

/// Audio as an embedded resource: the bytes stay, and a client may save what it cannot play.
fn audio_as_resource(mut block: Object<'_>) -> Option<String> {
    let mut resource = Object::default();
    // Every resource has a URI; this one is part of the message and nowhere else.
    resource.set("uri", "\"cid:audio\"");
    for (from, to) in [("mimeType", "mimeType"), ("data", "blob")] {
        resource.set(to, block.get(from)?.to_owned());
        block.remove(from);
    }
    block.set("type", "\"resource\"");
    block.set("resource", resource.text());
    Some(block.text())
}

/// Audio in a conversation with a model, which may hold text and images only.
fn audio_as_text(block: &str) -> Option<String> {
    let block = Object::parse(block).filter(|block| block.get("type") == Some(AUDIO))?;
    let kind = block.string("mimeType").unwrap_or_default().into_owned();
    let length = decoded_len(&block.string("data").unwrap_or_default());
    Some(into_text(block, &format!("[audio {kind}, {length} bytes]"), &["data", "mimeType"]))
}
