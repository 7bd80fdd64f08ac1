//! A call together with what its server sends before the response.

use crate::{CallError, CallEvent, CallEvents, CallResponse, InFlight};

/// A call that is awaited. Dropping it cancels the call.
#[derive(Debug)]
pub struct RunningCall {
    call: InFlight,
    /// None once nothing more can come.
    events: Option<CallEvents>,
    /// How the call ended, while events that were sent before are still to be read.
    ended: Option<Result<CallResponse, CallError>>,
}

/// The next thing that happens in a call.
#[derive(Debug)]
pub enum CallUpdate {
    /// The server sent something that belongs to the call.
    Event(CallEvent),
    /// The call has ended.
    Ended(Result<CallResponse, CallError>),
}

impl RunningCall {
    /// Joins a call with its events, if there is anyone to receive them.
    pub fn new(call: InFlight, events: Option<CallEvents>) -> Self {
        Self { call, events, ended: None }
    }

    /// Waits for the end; what comes before is discarded.
    pub async fn outcome(self) -> Result<CallResponse, CallError> {
        self.call.await
    }

    /// Returns the next update; must not be called after the end. Cancel safe.
    pub async fn next(&mut self) -> CallUpdate {
        let Some(events) = &mut self.events else { return CallUpdate::Ended((&mut self.call).await) };
        if self.ended.is_none() {
            tokio::select! {
                biased;
                // The server sent its events before its response. They are looked for after it, so none is missed.
                outcome = &mut self.call => self.ended = Some(outcome),
                Some(event) = events.recv() => return CallUpdate::Event(event),
            }
        }
        match (events.try_recv(), self.ended.take()) {
            (Some(event), ended) => {
                self.ended = ended;
                CallUpdate::Event(event)
            }
            (None, Some(outcome)) => CallUpdate::Ended(outcome),
            (None, None) => std::future::pending().await, // it has ended already
        }
    }
}
