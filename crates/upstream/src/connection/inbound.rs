//! What a server says.

use tokio::time::Instant;
use toolbay_protocol::{ErrorCode, Message, Notification, RequestId, Response, Revision, meta, method};
use toolbay_supervise::LogSource;
use toolbay_translate::untagged;
use toolbay_transport::{Incoming, RejectedMessage, http::client::HttpError};

use super::{GATHER, NOISE_SHOWN, UpstreamConnection};
use crate::{
    CallError, CallEvent, CallEventSender, CatalogKind, Failure, call::CallResponse, capture::Direction,
    catalog::list::declared, endpoint::detect::ServerProtocol, status::Gauges,
    subscriptions::subscriber::Acknowledged,
};

impl UpstreamConnection<'_> {
    /// Takes what arrived; never waits.
    pub(super) fn take(&mut self, incoming: Incoming) {
        self.idle.received = true;
        match incoming {
            Incoming::Message(message) => self.on_message(message, None),
            Incoming::About(id, message) => self.on_message(message, id.as_number()),
            Incoming::Refused(refusal) => self.refused(refusal),
            Incoming::Failed { id, why } => {
                let why = self.without_secrets(why);
                self.on_lost(id.as_ref(), why);
            }
            Incoming::Lost { why, unsent } => {
                let unsent: Vec<u64> = unsent.iter().filter_map(RequestId::as_number).collect();
                self.context.calls.unsent(&unsent);
                self.lost = Some(Failure::Remote { why: self.without_secrets(why) });
            }
        }
    }

    /// Takes a message; `about` is the call that it belongs to, where the transport knows.
    fn on_message(&mut self, message: Message, about: Option<u64>) {
        if self.context.settings.capture.is_on() {
            self.capture(Direction::Received, message.text().clone(), None);
        }
        match message {
            Message::Response(response) => self.on_response(response),
            Message::Notification(notification) => self.notified(notification, about),
            Message::Request(request) => self.on_server_request(request, about),
        }
    }

    fn without_secrets(&self, why: HttpError) -> HttpError {
        let known = &self.context.settings.known_secrets;
        why.map_texts(|text| known.hide(text).into_owned())
    }

    fn on_lost(&mut self, id: Option<&RequestId>, why: HttpError) {
        self.context.outputs.log.push(LogSource::Event, &why.to_string());
        if let Some(id) = id.and_then(RequestId::as_number) {
            let error = CallError::NoAnswer { server: self.context.settings.name.clone(), why: why.clone() };
            self.context.calls.complete(id, Err(error));
        }
        if why.is_login_required() && self.revision.is_some() {
            // No other request will do better.
            self.lost = Some(Failure::Remote { why });
        }
    }

    fn on_response(&mut self, response: Box<Response>) {
        // Before the handshake, the revision does not matter.
        let revision = self.revision.unwrap_or(Revision::LATEST_LEGACY);
        if self.context.rules.is_some()
            && response.error().is_some_and(|error| error.code == ErrorCode::HEADER_MISMATCH)
        {
            self.list_changed(&[CatalogKind::Tools]); // a tool may want other headers now
        }
        let id = response.id.as_ref().and_then(RequestId::as_number);
        if id.is_some() && id == self.subscription {
            self.subscription = None;
        }
        let known =
            id.is_some_and(|id| self.context.calls.complete(id, Ok(CallResponse { response, revision })));
        if !known {
            Gauges::next(&self.context.outputs.gauges.stray_answers);
        }
    }

    fn notified(&mut self, notification: Box<Notification>, about: Option<u64>) {
        match notification.method() {
            method::PROGRESS => {
                let token = notification.param(meta::PROGRESS_TOKEN);
                let id = token.and_then(|span| notification.raw(span).parse().ok());
                if let Some(pending) = id.and_then(|id| self.context.calls.progressed(id))
                    && let Some(events) = &pending.events
                {
                    // A client that reads too slowly misses steps, not the end.
                    let _ = events.send(CallEvent::Progress(notification));
                }
            }
            method::LOG_MESSAGE => {
                let text = notification.params_text().unwrap_or_default();
                self.context.outputs.log.push(LogSource::Event, &format!("log message: {text}"));
                let level = notification.string_param("level").and_then(|level| level.parse().ok());
                let pending = match about {
                    Some(id) => self.context.calls.pending(id),
                    None => self.context.calls.only_one(),
                };
                match pending {
                    Some(pending) => {
                        if pending.logs.wants(level)
                            && let Some(events) = &pending.events
                        {
                            let _ = events.send(CallEvent::Log(notification));
                        }
                    }
                    None => self.say(notification),
                }
            }
            method::TOOLS_CHANGED => self.list_changed(&[CatalogKind::Tools]),
            method::PROMPTS_CHANGED => self.list_changed(&[CatalogKind::Prompts]),
            method::RESOURCES_CHANGED => {
                self.list_changed(&[CatalogKind::Resources, CatalogKind::ResourceTemplates])
            }
            method::LISTEN_ACKNOWLEDGED | method::TASK_CHANGED
                if let Some(events) = self.subscriber(&notification, about) =>
            {
                // A client that reads too slowly misses some; it can poll.
                let _ = events.send(CallEvent::Subscription(notification));
            }
            method::LISTEN_ACKNOWLEDGED => self.acknowledged(notification),
            method::CANCELLED => {
                let id = notification.param("requestId").map(|span| notification.bytes(span));
                if let Some(id) = id.and_then(RequestId::from_raw) {
                    self.withdrawn(&id);
                    self.unsubscribed(&id);
                }
            }
            // While one subscription replaces another, both may report the same change.
            method::RESOURCE_UPDATED
                if subscription_of(&notification).is_some_and(|id| Some(id) < self.subscription) => {}
            method::RESOURCE_UPDATED => {
                // The tag was for us; the gateway adds its own.
                if let Ok(Message::Notification(update)) =
                    Message::parse(untagged(&notification).into_bytes())
                {
                    self.update(update);
                }
            }
            method::TASK_STATUS => self.update(notification),
            // They mean something to others only: to servers, and to subscriptions that ended.
            method::INITIALIZED | method::ROOTS_CHANGED | method::TASK_CHANGED => {}
            // Between a hub and those who stand in front of its clients; a server has no part in it.
            custom if custom.starts_with(method::OURS) => {}
            _ => self.custom(notification, about),
        }
    }

    /// Forwards a notification that the protocol does not define to observers of the server, and to the client of the call on
    /// whose stream it came or, where the transport does not know, of the only call there is. Its content may be private, so
    /// with several calls no client gets it.
    fn custom(&self, notification: Box<Notification>, about: Option<u64>) {
        let Ok(Message::Notification(notification)) = Message::parse(untagged(&notification).into_bytes())
        else {
            return;
        };
        let pending = match about {
            Some(id) => self.context.calls.pending(id),
            None => self.context.calls.only_one(),
        };
        if let Some(events) = pending.and_then(|pending| pending.events.as_ref()) {
            // A client that reads too slowly misses some, as with progress.
            let _ = events.send(CallEvent::Custom(notification.clone()));
        }
        self.say(notification);
    }

    /// Sends a notification to observers of the server. However many there are, capacity is left for requested updates.
    fn say(&self, notification: Box<Notification>) {
        let updates = &self.context.outputs.updates;
        if updates.capacity() > updates.max_capacity() / 2 {
            self.update(notification);
        }
    }

    /// Publishes an update.
    fn update(&self, notification: Box<Notification>) {
        let _ = self.context.outputs.updates.try_send((self.context.settings.name.clone(), notification));
    }

    /// The server ends a request of ours; the only one for which it may is one to listen.
    fn unsubscribed(&mut self, id: &RequestId) {
        if let Some(id) = id.as_number()
            && self.context.calls.end_ours(id)
            && self.subscription == Some(id)
        {
            self.subscription = None;
        }
    }

    fn acknowledged(&mut self, notification: Box<Notification>) {
        let Some(id) = subscription_of(&notification) else { return };
        if self.subscription.replace(id).is_none() {
            // Changes before the acknowledgment were not announced.
            let kinds = declared(self.context.status.borrow().catalog.capabilities.as_deref());
            self.list_changed(&kinds);
        }
        let _ = self.acknowledged.try_send(Acknowledged { id, notification });
    }

    /// Returns where a notification of a client's subscription goes.
    fn subscriber(&self, notification: &Notification, about: Option<u64>) -> Option<CallEventSender> {
        self.context.calls.subscription_sender(subscription_of(notification).or(about)?).cloned()
    }

    fn refused(&mut self, refusal: RejectedMessage) {
        if let Some(line) = self.refusals.line(&refusal) {
            let line = self.context.settings.known_secrets.hide(&line);
            tracing::warn!(server = %self.context.settings.name, "{line}");
        }
        let RejectedMessage { why, id, excerpt } = refusal;
        if self.context.settings.capture.is_on() {
            self.capture(Direction::Received, excerpt.clone().into(), None);
        }
        if let Some(id) = id.as_ref().and_then(RequestId::as_number) {
            let server = self.context.settings.name.clone();
            let error = CallError::BadAnswer { server, why: why.clone() };
            self.context.outputs.log.push(LogSource::Event, &format!("{error}: {excerpt}"));
            if self.context.calls.complete(id, Err(error)) {
                return;
            }
        }
        let noise = Gauges::next(&self.context.outputs.gauges.noise);
        if noise <= NOISE_SHOWN {
            self.context.outputs.log.push(LogSource::StdoutNoise, &format!("{excerpt}  ({why})"));
        }
        if noise == 1 && matches!(self.context.protocol, ServerProtocol::Stdio | ServerProtocol::InProcess) {
            let hint = "the server prints to stdout, which belongs to the protocol; it should use stderr";
            self.context.outputs.log.push(LogSource::Event, hint);
        }
    }

    fn list_changed(&mut self, kinds: &[CatalogKind]) {
        self.changed.extend(kinds);
        self.refresh_at.get_or_insert(Instant::now() + GATHER);
    }
}

/// The subscription that a notification says it belongs to.
fn subscription_of(notification: &Notification) -> Option<u64> {
    notification.raw(notification.meta(meta::SUBSCRIPTION_ID)?).parse().ok()
}
