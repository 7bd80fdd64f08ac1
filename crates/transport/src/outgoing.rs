//! Messages to send, with what transports need to know of them.

use bytes::Bytes;
use tokio::sync::mpsc;
use toolbay_protocol::{Message, Notification, RequestId, Rope, method};

/// A message to send, on one line.
///
/// Its builder knows what kind of message it is. A transport that had to find out would parse every message again.
#[derive(Debug)]
pub struct Outgoing {
    pub(crate) text: Rope,
    pub(crate) kind: OutgoingKind,
}

/// The kinds of messages that a transport treats differently.
#[derive(Debug)]
pub(crate) enum OutgoingKind {
    /// `initialize`, which begins a session.
    Initialize(RequestId),
    /// `logging/setLevel`, which must arrive before the requests that follow.
    SetLevel(RequestId),
    /// Any other request.
    Request(RequestId),
    /// `notifications/initialized`, which must arrive before everything that follows.
    Initialized,
    /// `notifications/cancelled` for this request.
    Cancelled(RequestId),
    /// A response, any other notification, and everything that a server sends to its client.
    Other,
}

impl Outgoing {
    /// A request to a server.
    pub fn request(id: RequestId, method: &str, text: impl Into<Rope>) -> Self {
        let kind = match method {
            method::INITIALIZE => OutgoingKind::Initialize(id),
            method::SET_LEVEL => OutgoingKind::SetLevel(id),
            _ => OutgoingKind::Request(id),
        };
        Self { text: text.into(), kind }
    }

    /// A notification to a server; [`cancellation`](Self::cancellation) is for that of a request.
    pub fn notification(method: &str, text: impl Into<Rope>) -> Self {
        let kind =
            if method == method::INITIALIZED { OutgoingKind::Initialized } else { OutgoingKind::Other };
        Self { text: text.into(), kind }
    }

    /// The notification that a request is canceled.
    pub fn cancellation(id: RequestId, text: impl Into<Rope>) -> Self {
        Self { text: text.into(), kind: OutgoingKind::Cancelled(id) }
    }

    /// A response to a server request.
    pub fn response(text: impl Into<Rope>) -> Self {
        Self { text: text.into(), kind: OutgoingKind::Other }
    }

    /// Any message to a client: a response, a notification or a server request.
    pub fn to_client(text: impl Into<Rope>) -> Self {
        Self { text: text.into(), kind: OutgoingKind::Other }
    }

    /// The message.
    pub fn text(&self) -> &Rope {
        &self.text
    }

    /// The message, without what is known of it.
    pub fn into_text(self) -> Rope {
        self.text
    }

    /// The id, if this is a request to a server.
    fn request_id(self) -> Option<RequestId> {
        match self.kind {
            OutgoingKind::Initialize(id) | OutgoingKind::SetLevel(id) | OutgoingKind::Request(id) => Some(id),
            OutgoingKind::Initialized | OutgoingKind::Cancelled(_) | OutgoingKind::Other => None,
        }
    }
}

/// Parses a text to see what it is, for programs that have only that.
impl From<Bytes> for Outgoing {
    fn from(text: Bytes) -> Self {
        match Message::parse(text.clone()) {
            Ok(message) => message.into(),
            // The peer will say what is wrong with it.
            Err(_) => Self { text: text.into(), kind: OutgoingKind::Other },
        }
    }
}

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<Message> for Outgoing {
    fn from(message: Message) -> Self {
        let text = message.text().clone();
        match message {
            Message::Request(request) => Self::request(request.id, request.call.method(), text),
            Message::Notification(notification) => match cancelled(&notification) {
                Some(id) => Self::cancellation(id, text),
                None => Self::notification(notification.method(), text),
            },
            Message::Response(_) => Self::response(text),
        }
    }
}

fn cancelled(notification: &Notification) -> Option<RequestId> {
    if notification.method() != method::CANCELLED {
        return None;
    }
    RequestId::from_raw(notification.bytes(notification.param("requestId")?))
}

/// Returns the requests that were never sent, in order: what the sender took already, then what is still queued.
pub(crate) async fn unsent(taken: Vec<Outgoing>, mut queued: mpsc::Receiver<Outgoing>) -> Vec<RequestId> {
    let mut ids: Vec<_> = taken.into_iter().filter_map(Outgoing::request_id).collect();
    queued.close();
    while let Some(message) = queued.recv().await {
        ids.extend(message.request_id());
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> String {
        format!("{:?}", Outgoing::from(text.to_owned()).kind)
    }

    #[test]
    fn a_text_is_what_it_says() {
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#), "Initialize(1)");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel"}"#), "SetLevel(2)");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#), "Request(\"a\")");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "Initialized");
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(kind(cancel), "Cancelled(7)");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#), "Other");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#), "Other");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "Other");
        assert_eq!(kind("{"), "Other");
    }

    #[tokio::test]
    async fn only_requests_are_unsent_and_in_order() {
        let (sender, queued) = mpsc::channel(4);
        let request = |id: u64| Outgoing::request(id.into(), method::TOOLS_CALL, Bytes::new());
        sender.try_send(Outgoing::notification(method::INITIALIZED, Bytes::new())).unwrap();
        sender.try_send(request(3)).unwrap();
        let taken = vec![request(1), Outgoing::cancellation(1.into(), Bytes::new()), request(2)];
        assert_eq!(unsent(taken, queued).await, [1, 2, 3].map(RequestId::from));
        assert!(sender.is_closed());
    }
}
