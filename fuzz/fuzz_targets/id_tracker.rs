//! The id of a text in pieces.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use toolbay_protocol::{IdTracker, Message, RequestId};

fn found(text: &[u8], size: usize) -> Option<RequestId> {
    let mut tracker = IdTracker::default();
    text.chunks(size).for_each(|piece| tracker.feed(piece));
    tracker.into_id()
}

fuzz_target!(|input: &[u8]| {
    let Some((&size, text)) = input.split_first() else { return };
    let id = found(text, usize::from(size) + 1);
    assert_eq!(id, found(text, text.len().max(1)));
    let parsed = match Message::parse(Bytes::copy_from_slice(text)) {
        Ok(Message::Request(request)) => Some(request.id),
        Ok(Message::Response(response)) => response.id,
        _ => return,
    };
    // White space around a short id may still make its field too long to keep.
    assert!(id == parsed || text.len() > 1000);
});
