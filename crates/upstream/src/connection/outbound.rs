//! Sending requests and notifications to the server.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::{sync::oneshot, time::Instant};
use toolbay_protocol::{LogLevel, ObjectBuilder, Request, RequestId, Revision, method};
use toolbay_supervise::LogSource;
use toolbay_translate::{RequestEdits, request as translate_request};
use toolbay_transport::Outgoing;

use super::{ConnectionContext, UpstreamConnection};
use crate::{
    call::table::QueuedCall,
    capture::{Direction, Hop, PassingMessage},
    connection::requester::RequesterCommand,
    status::Phase,
};

impl UpstreamConnection<'_> {
    pub(super) fn send_waiting(&mut self) {
        let Some(revision) = self.revision else { return };
        let now = Instant::now();
        while self.context.calls.in_flight() < self.context.settings.max_in_flight
            && self.context.calls.has_sendable()
        {
            let Ok(mut slot) = self.outgoing.try_reserve() else { return };
            let Some(queued) = self.context.calls.next_waiting() else { return };
            if let Some(level) = self.verbosity.level_to_set(queued.call.caller.logs) {
                let message = set_level(&mut self.context, level);
                self.capture_sent(&message, None);
                slot.send(message);
                let Ok(next) = self.outgoing.try_reserve() else { return self.context.calls.wait_on(queued) };
                slot = next;
            }
            let message = forwarded(&queued, revision);
            self.capture_sent(&message, Some(&queued.call.request));
            slot.send(message);
            self.context.calls.sent(queued, now);
        }
    }

    /// Sends a message of our own. There is capacity: the `select!` reserved it, and nothing else ran since.
    pub(super) fn execute(&mut self, command: RequesterCommand) {
        let message = match command {
            RequesterCommand::Request { id, method, params, reply } => {
                self.context.calls.sent_ours(id, reply);
                let id = id.into();
                let text = toolbay_protocol::request(&id, method, params.as_deref());
                Outgoing::request(id, method, text)
            }
            RequesterCommand::Notify { method } => {
                Outgoing::notification(method, toolbay_protocol::notification(method, None))
            }
            RequesterCommand::Cancel { id } => {
                self.context.calls.cancel(id);
                return self.notify_cancelled(id, "no longer needed");
            }
        };
        self.send_within_capacity(message);
    }

    pub(super) fn cancel(&mut self) {
        for id in self.context.inputs.cancelled.take() {
            if self.context.calls.cancel(id) {
                self.notify_cancelled(id, "the client disconnected or canceled");
            }
        }
    }

    pub(super) fn expire(&mut self) {
        let phase = match self.phase {
            Phase::Serving => "busy",
            _ => "starting",
        };
        for id in self.context.calls.expire(phase) {
            self.notify_cancelled(id, "timed out");
        }
    }

    pub(super) fn notify_cancelled(&mut self, id: u64, reason: &str) {
        let id = id.into();
        let text = toolbay_protocol::cancelled(&id, Some(reason));
        self.send_within_capacity(Outgoing::cancellation(id, text));
    }

    /// For what must not wait: a server that does not read its input misses it, which it would anyway.
    pub(super) fn send_within_capacity(&mut self, message: Outgoing) {
        self.capture_sent(&message, None);
        if self.outgoing.try_send(message).is_err() {
            self.context
                .outputs
                .log
                .push(LogSource::Event, "the server does not read its input; a message was left out");
        }
    }

    /// Captures an outgoing message; `cause` is the request of a client that it forwards.
    fn capture_sent(&self, message: &Outgoing, cause: Option<&Request>) {
        if self.context.settings.capture.is_on() {
            self.capture(Direction::Sent, message.text().clone().into_bytes(), cause);
        }
    }

    /// Captures a message.
    pub(super) fn capture(&self, direction: Direction, text: Bytes, cause: Option<&Request>) {
        let settings = self.context.settings;
        settings.capture.record(PassingMessage {
            connection: self.connection,
            hop: Hop::Server,
            direction,
            client: None,
            server: Some(settings.name.as_str()),
            cause,
            text,
        });
    }
}

/// The response is ignored: a server that refuses logs what it likes, and callers get the levels they want.
fn set_level(context: &mut ConnectionContext<'_>, level: LogLevel) -> Outgoing {
    let id = context.outputs.ids.fetch_add(1, Ordering::Relaxed);
    context.calls.sent_ours(id, oneshot::channel().0);
    let params = ObjectBuilder::new().string("level", &level.to_string()).finish();
    let id = id.into();
    let text = toolbay_protocol::request(&id, method::SET_LEVEL, Some(&params));
    Outgoing::request(id, method::SET_LEVEL, text)
}

/// The request of a client as the server gets it.
fn forwarded(queued: &QueuedCall, revision: Revision) -> Outgoing {
    let call = &queued.call;
    let id = RequestId::from(queued.id);
    let change = RequestEdits {
        id: &id,
        renamed: &call.renamed,
        wants_progress: call.request.call.method() == method::TOOLS_CALL,
        only_as_task: call.only_as_task,
        awaits_tasks: call.caller.awaits_tasks,
    };
    let text =
        translate_request(&call.request, &change, call.caller.revision, revision, &call.caller.identity);
    Outgoing::request(id, call.request.call.method(), text)
}
