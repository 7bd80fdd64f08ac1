//! The link between a parked call and the request that goes on with it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;
use toolbay_host::{CallError, CallEvent, CallEventSender, CallEvents, CallResponse, events};
use toolbay_protocol::{ErrorCode, ErrorObject};

/// How a request that goes on with a parked call ends.
#[derive(Debug, Clone)]
pub(crate) enum LinkEnd {
    /// The server answered.
    Answered(CallResponse),
    /// The call failed.
    Failed(CallError),
    /// The server asks something else: a result, as JSON text.
    Asked(String),
    /// These answers cannot be taken.
    Refused(ErrorObject),
}

/// What happens next to such a request.
#[derive(Debug)]
pub(crate) enum LinkEvent {
    Event(CallEvent),
    Ended(Box<LinkEnd>),
}

/// The request's end of the link.
#[derive(Debug)]
pub(crate) struct CallLink {
    ended: oneshot::Receiver<LinkEnd>,
    events: CallEvents,
    last: Option<Box<LinkEnd>>,
}

/// The call's end of the link.
#[derive(Debug)]
pub(super) struct RequestLink {
    pub(super) ended: oneshot::Sender<LinkEnd>,
    pub(super) events: CallEventSender,
}

pub(super) fn pair() -> (RequestLink, CallLink) {
    let (ended, end) = oneshot::channel();
    let (sender, seen) = events();
    (RequestLink { ended, events: sender }, CallLink { ended: end, events: seen, last: None })
}

impl CallLink {
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<LinkEvent> {
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(LinkEvent::Event(event));
        }
        if self.last.is_none() {
            let Poll::Ready(ended) = Pin::new(&mut self.ended).poll(context) else { return Poll::Pending };
            self.last = Some(Box::new(ended.unwrap_or_else(|_| LinkEnd::Refused(taken_over()))));
            if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
                return Poll::Ready(LinkEvent::Event(event));
            }
        }
        self.last.take().map_or(Poll::Pending, |ended| Poll::Ready(LinkEvent::Ended(ended)))
    }
}

fn taken_over() -> ErrorObject {
    ErrorObject::new(
        ErrorCode::INTERNAL_ERROR,
        "the call was taken over by a newer request, or the hub stops",
    )
}
