//! A call at a server, as it goes on.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use toolbay_host::{CallError, CallEvent, CallEvents, CallResponse, InFlight};
use toolbay_protocol::ServerName;

use crate::tasks::AwaitedTask;

/// A running call with what it says on the way. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct LiveCall {
    call: InFlight,
    events: Option<CallEvents>,
    ended: Option<Result<CallResponse, CallError>>,
    /// The task whose end it waits for.
    task: Option<AwaitedTask>,
}

/// What happens next in a call.
#[derive(Debug)]
pub(crate) enum LiveEvent {
    /// Something on the way.
    Event(CallEvent),
    /// Its end; nothing follows.
    Ended(Result<CallResponse, CallError>),
}

impl LiveCall {
    pub(crate) fn new(call: InFlight, events: Option<CallEvents>) -> Self {
        Self { call, events, ended: None, task: None }
    }

    /// The same call, which waits for the end of a task.
    pub(crate) fn awaiting(self, task: AwaitedTask) -> Self {
        Self { task: Some(task), ..self }
    }

    /// The server that has the call.
    pub(crate) fn server(&self) -> &ServerName {
        self.call.server()
    }

    /// What happens next. Cancel safe; not to be called again after the end.
    pub(crate) async fn next(&mut self) -> LiveEvent {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<LiveEvent> {
        if self.ended.is_none()
            && let Poll::Ready(outcome) = Pin::new(&mut self.call).poll(context)
        {
            self.ended = Some(outcome);
        }
        // Events come first: the server sent them before its answer, so they were there when that was looked for.
        if let Some(event) = self.poll_event(context) {
            return Poll::Ready(LiveEvent::Event(event));
        }
        let Some(outcome) = self.ended.take() else { return Poll::Pending };
        if let (Some(task), Ok(_)) = (self.task.take(), &outcome) {
            task.ended();
        }
        Poll::Ready(LiveEvent::Ended(outcome))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Option<CallEvent> {
        match self.events.as_mut()?.poll_recv(context) {
            Poll::Ready(None) => {
                self.events = None;
                None
            }
            Poll::Ready(event) => event,
            Poll::Pending => None,
        }
    }
}
