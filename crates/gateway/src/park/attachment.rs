//! The link between a parked call and the request that goes on with it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;
use toolbay_host::{Answer, CallError, CallEvent, EventSender, Events, events};
use toolbay_protocol::{ErrorCode, ErrorObject};

/// How a request that goes on with a parked call ends.
#[derive(Debug, Clone)]
pub(crate) enum Ended {
    /// The server answered.
    Answered(Answer),
    /// The call failed.
    Failed(CallError),
    /// The server asks something else: a result, as JSON text.
    Asked(String),
    /// These answers cannot be taken.
    Refused(ErrorObject),
}

/// What happens next to such a request.
#[derive(Debug)]
pub(crate) enum Next {
    Event(CallEvent),
    Ended(Box<Ended>),
}

/// The request's end of the link.
#[derive(Debug)]
pub(crate) struct Attachment {
    ended: oneshot::Receiver<Ended>,
    events: Events,
    last: Option<Box<Ended>>,
}

/// The call's end of the link.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) ended: oneshot::Sender<Ended>,
    pub(super) events: EventSender,
}

pub(super) fn pair() -> (Attached, Attachment) {
    let (ended, end) = oneshot::channel();
    let (sender, seen) = events();
    (Attached { ended, events: sender }, Attachment { ended: end, events: seen, last: None })
}

impl Attachment {
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
            return Poll::Ready(Next::Event(event));
        }
        if self.last.is_none() {
            let Poll::Ready(ended) = Pin::new(&mut self.ended).poll(context) else { return Poll::Pending };
            self.last = Some(Box::new(ended.unwrap_or_else(|_| Ended::Refused(taken_over()))));
            if let Poll::Ready(Some(event)) = self.events.poll_recv(context) {
                return Poll::Ready(Next::Event(event));
            }
        }
        self.last.take().map_or(Poll::Pending, |ended| Poll::Ready(Next::Ended(ended)))
    }
}

fn taken_over() -> ErrorObject {
    ErrorObject::new(
        ErrorCode::INTERNAL_ERROR,
        "the call was taken over by a newer request, or the hub stops",
    )
}
