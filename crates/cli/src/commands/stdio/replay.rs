//! The state of a client's connection, as far as another hub needs it to take over.
//!
//! Only envelopes are read. Requests with a lasting effect (handshake, log level, subscriptions) are kept and replayed; a request that is
//! pending when a hub is lost gets one error, and is never sent again.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use toolbay_gateway::GOODBYE;
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, Outcome, Request, RequestId, Response, cancelled, error,
    meta, method, notification, parse_batch, request,
};

/// How many requests of lost hubs are remembered, so that the client's responses reach no other hub.
const MAX_ORPHANS: usize = 1024;

/// The state of a connection that is replayed.
#[derive(Debug, Default)]
pub(super) struct ReplayState {
    /// The client's `initialize`, and whether it has its answer.
    handshake: Option<(Bytes, HandshakeProgress)>,
    /// The client's `notifications/initialized`.
    initialized: Option<Bytes>,
    /// The parameters of the last `logging/setLevel`.
    log_level: Option<String>,
    /// The parameters of each `resources/subscribe` that counts, by the URI.
    subscribed: BTreeMap<String, String>,
    /// Each `subscriptions/listen` that goes on.
    listening: HashMap<RequestId, (Bytes, HandshakeProgress)>,
    /// Requests of the client that the hub has not answered.
    running: HashMap<RequestId, Running>,
    /// Requests of the hub that the client has not answered.
    server_requests: HashSet<RequestId>,
    /// Requests of lost hubs that the client has not answered.
    orphans: HashSet<RequestId>,
    /// Our own requests, whose answers the client must not see.
    repeated: HashSet<RequestId>,
    /// Streams that were acknowledged before, so that the client must not see it again.
    relistened: HashSet<RequestId>,
    last_repeat: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakeProgress {
    Sent,
    Answered,
}

/// The effect of a request on the state once it succeeds.
#[derive(Debug)]
enum Running {
    Plain,
    Initialize,
    SetLevel(Option<String>),
    Subscribe(String, Option<String>),
    Unsubscribe(String),
    Listen,
}

/// How a line is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    HandOn,
    /// The other side must not see it.
    Drop,
    /// The hub is about to end, because it was stopped.
    Goodbye,
}

impl ReplayState {
    /// Takes note of a line of the client.
    pub(super) fn client_line(&mut self, line: &Bytes) -> Verdict {
        match Message::parse(line.clone()) {
            Ok(Message::Request(request)) => self.asks(&request),
            Ok(Message::Notification(notification)) => self.notes(&notification),
            Ok(Message::Response(response)) => return self.client_response(&response),
            Err(_) => self.batch(line),
        }
        Verdict::HandOn
    }

    /// Takes note of a line of the hub.
    pub(super) fn hub_line(&mut self, line: &Bytes) -> Verdict {
        match Message::parse(line.clone()) {
            Ok(Message::Response(response)) => self.hub_response(&response),
            Ok(Message::Request(request)) => {
                self.orphans.remove(&request.id);
                self.server_requests.insert(request.id);
                Verdict::HandOn
            }
            Ok(Message::Notification(notification)) => self.hub_notification(&notification),
            // An answer to a batch.
            Err(_) => {
                for message in parse_batch(line.clone()).into_iter().flatten().flatten() {
                    if let Message::Response(response) = message {
                        self.hub_response(&response);
                    }
                }
                Verdict::HandOn
            }
        }
    }

    /// Takes back a line of the client that the hub never read.
    pub(super) fn take_back(&mut self, line: &Bytes) {
        match Message::parse(line.clone()) {
            Ok(Message::Request(request)) => {
                self.listening.remove(&request.id);
                if let Some(Running::Initialize) = self.running.remove(&request.id) {
                    self.handshake = None;
                }
            }
            Ok(Message::Notification(notification)) if notification.method() == method::INITIALIZED => {
                self.initialized = None;
            }
            _ => {}
        }
    }

    /// Whether neither side waits for a response, so that another hub can take over without a loss.
    pub(super) fn is_idle(&self) -> bool {
        let goes_on = |running: &Running| matches!(running, Running::Listen);
        self.running.values().all(goes_on) && self.server_requests.is_empty() && self.repeated.is_empty()
    }

    /// Forgets the hub, and returns the errors and cancellations for the client.
    pub(super) fn lose_hub(&mut self) -> Vec<Bytes> {
        let mut messages = Vec::new();
        self.running.retain(|id, running| {
            let goes_on = matches!(running, Running::Initialize | Running::Listen);
            if !goes_on {
                let why = "the hub exited before it responded; the request may have been carried out and was not sent again";
                messages.push(error(Some(id), &ErrorObject::new(ErrorCode::INTERNAL_ERROR, why)));
            }
            goes_on
        });
        for id in self.server_requests.drain() {
            messages.push(cancelled(&id, Some("the hub ended")));
            if self.orphans.len() < MAX_ORPHANS {
                self.orphans.insert(id);
            }
        }
        self.repeated.clear();
        self.relistened.clear();
        messages
    }

    /// The lines that a new hub gets first.
    pub(super) fn repeat(&mut self) -> Vec<Bytes> {
        let mut lines = Vec::new();
        match self.handshake.clone() {
            Some((line, HandshakeProgress::Sent)) => lines.push(line),
            Some((line, HandshakeProgress::Answered)) => {
                if let Ok(Message::Request(handshake)) = Message::parse(line) {
                    let params = handshake.call.params_text().map(str::to_owned);
                    lines.push(self.again(method::INITIALIZE, params.as_deref()));
                }
            }
            None => {}
        }
        lines.extend(self.initialized.clone());
        if let Some(params) = self.log_level.clone() {
            lines.push(self.again(method::SET_LEVEL, Some(&params)));
        }
        for params in Vec::from_iter(self.subscribed.values().cloned()) {
            lines.push(self.again(method::RESOURCES_SUBSCRIBE, Some(&params)));
        }
        for (id, (line, progress)) in &self.listening {
            lines.push(line.clone());
            if *progress == HandshakeProgress::Answered {
                self.relistened.insert(id.clone());
            }
        }
        lines
    }

    /// The notifications for the client when another hub took over: its lists may have changed.
    pub(super) fn changes(&self) -> Vec<Bytes> {
        if self.initialized.is_none() {
            return Vec::new();
        }
        let all = [method::TOOLS_CHANGED, method::RESOURCES_CHANGED, method::PROMPTS_CHANGED];
        all.map(|changed| notification(changed, None)).to_vec()
    }

    /// A request of our own.
    fn again(&mut self, method: &str, params: Option<&str>) -> Bytes {
        self.last_repeat += 1;
        let id = format!("\"toolbay-repeat-{}\"", self.last_repeat);
        let id = RequestId::from_raw(id.as_bytes()).expect("a short string is an id");
        let line = request(&id, method, params);
        self.repeated.insert(id);
        line
    }

    fn asks(&mut self, request: &Request) {
        let call = &request.call;
        let params = || call.params_text().map(str::to_owned);
        let uri = || call.string_param("uri").map(|uri| uri.into_owned()).unwrap_or_default();
        let running = match call.method() {
            method::INITIALIZE if self.handshake.is_none() => {
                self.handshake = Some((own(&call.text), HandshakeProgress::Sent));
                Running::Initialize
            }
            method::SET_LEVEL => Running::SetLevel(params()),
            method::RESOURCES_SUBSCRIBE => Running::Subscribe(uri(), params()),
            method::RESOURCES_UNSUBSCRIBE => Running::Unsubscribe(uri()),
            method::LISTEN => {
                self.listening.insert(request.id.clone(), (own(&call.text), HandshakeProgress::Sent));
                Running::Listen
            }
            _ => Running::Plain,
        };
        self.running.insert(request.id.clone(), running);
    }

    fn notes(&mut self, notification: &Notification) {
        match notification.method() {
            method::INITIALIZED => self.initialized = Some(own(&notification.text)),
            // A request that is cancelled is not answered.
            method::CANCELLED => {
                if let Some(id) = named(notification) {
                    self.running.remove(&id);
                    self.listening.remove(&id);
                }
            }
            _ => {}
        }
    }

    fn client_response(&mut self, response: &Response) -> Verdict {
        let Some(id) = &response.id else { return Verdict::HandOn };
        self.server_requests.remove(id);
        if self.orphans.remove(id) { Verdict::Drop } else { Verdict::HandOn }
    }

    fn batch(&mut self, line: &Bytes) {
        for message in parse_batch(line.clone()).into_iter().flatten().flatten() {
            match message {
                Message::Request(request) => self.asks(&request),
                Message::Notification(notification) => self.notes(&notification),
                Message::Response(response) => _ = self.client_response(&response),
            }
        }
    }

    fn hub_response(&mut self, response: &Response) -> Verdict {
        let Some(id) = &response.id else { return Verdict::HandOn };
        if self.repeated.remove(id) {
            return Verdict::Drop;
        }
        let is_well = matches!(response.outcome, Outcome::Result { .. });
        match self.running.remove(id) {
            Some(Running::Initialize) => match &mut self.handshake {
                Some((_, progress)) if is_well => *progress = HandshakeProgress::Answered,
                handshake => *handshake = None,
            },
            Some(Running::SetLevel(params)) if is_well => self.log_level = params,
            Some(Running::Subscribe(uri, Some(params))) if is_well => _ = self.subscribed.insert(uri, params),
            Some(Running::Unsubscribe(uri)) if is_well => _ = self.subscribed.remove(&uri),
            Some(Running::Listen) => _ = self.listening.remove(id),
            _ => {}
        }
        Verdict::HandOn
    }

    fn hub_notification(&mut self, notification: &Notification) -> Verdict {
        match notification.method() {
            GOODBYE => Verdict::Goodbye,
            method::CANCELLED => {
                if let Some(id) = named(notification) {
                    self.server_requests.remove(&id);
                }
                Verdict::HandOn
            }
            method::LISTEN_ACKNOWLEDGED => {
                let id = notification.meta(meta::SUBSCRIPTION_ID).map(|span| notification.bytes(span));
                let Some(id) = id.and_then(RequestId::from_raw) else { return Verdict::HandOn };
                if let Some((_, progress)) = self.listening.get_mut(&id) {
                    *progress = HandshakeProgress::Answered;
                }
                if self.relistened.remove(&id) { Verdict::Drop } else { Verdict::HandOn }
            }
            _ => Verdict::HandOn,
        }
    }
}

/// The request that a cancellation names.
fn named(notification: &Notification) -> Option<RequestId> {
    RequestId::from_raw(notification.bytes(notification.param("requestId")?))
}

/// A copy that keeps nothing else in memory.
fn own(text: &Bytes) -> Bytes {
    Bytes::copy_from_slice(text)
}

#[cfg(test)]
mod tests;
