//! Passes messages from a running request to its listener.
//!
//! A request puts a message into the slot of its thread and is pending; the code that polled it takes the message at once. So
//! the slot is empty between two polls, and a call without messages costs nothing.

use std::{cell::Cell, future::poll_fn, task::Poll};

use toolbay_protocol::Rope;

thread_local! {
    static SLOT: Cell<Option<Rope>> = const { Cell::new(None) };
}

/// Hands a message to the code that polls this request, and goes on with the next poll.
pub(crate) async fn put(text: Rope) {
    let mut text = Some(text);
    poll_fn(|_| match text.take() {
        Some(text) => {
            SLOT.set(Some(text));
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
    .await;
}

/// Takes the message of the request that was just polled.
pub(super) fn take() -> Option<Rope> {
    SLOT.take()
}
