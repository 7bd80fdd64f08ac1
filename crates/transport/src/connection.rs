//! What every transport ends as.

use bytes::Bytes;
use tokio::sync::mpsc;
use toolbay_protocol::{IdRecovery, Message, ParseError, RequestId, Rope};

use crate::http::client::HttpError;

/// One connection as the rest of the program sees it.
///
/// Dropping `outgoing` closes the sending side once what was queued is written; `incoming` ends when the peer is gone.
#[derive(Debug)]
pub struct Connection {
    /// Messages to send, each on one line.
    pub outgoing: mpsc::Sender<Rope>,
    /// What arrives, in order.
    pub incoming: mpsc::Receiver<Incoming>,
}

impl Connection {
    /// How many messages may wait in either direction.
    pub const QUEUE: usize = 256;
}

/// The requests among what was never sent, in order: what the sender took already, then what it did not get to.
pub(crate) async fn unsent(taken: Vec<Rope>, mut queued: mpsc::Receiver<Rope>) -> Vec<RequestId> {
    let mut ids = Vec::new();
    let mut note = |text: Rope| {
        if let Ok(Message::Request(request)) = Message::parse(text.into_bytes()) {
            ids.push(request.id);
        }
    };
    taken.into_iter().for_each(&mut note);
    queued.close();
    while let Some(text) = queued.recv().await {
        note(text);
    }
    ids
}

/// Something that arrived.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// Something that is none.
    Refused(RejectedMessage),
    /// A message that came with the answer to our request of that id, and so is about it.
    About(RequestId, Message),
    /// Our request of that id will get no answer; without an id it was a message that wants none.
    Failed { id: Option<RequestId>, why: HttpError },
    /// The connection is of no use any more. What is `unsent` certainly never reached the peer.
    Lost { why: HttpError, unsent: Vec<RequestId> },
}

impl Incoming {
    /// A text that stands for itself.
    pub(crate) fn read(text: Bytes) -> Self {
        match Message::parse(text.clone()) {
            Ok(message) => Self::Message(message),
            Err(why) => {
                let mut id = IdRecovery::default();
                id.feed(&text);
                Self::Refused(RejectedMessage::new(why, id.into_id(), &text))
            }
        }
    }
}

/// Something that arrived and is no message we accept.
#[derive(Debug)]
pub struct RejectedMessage {
    /// What is wrong with it.
    pub why: ParseError,
    /// The id it carries, when one could be made out: that call can then fail by name.
    pub id: Option<RequestId>,
    /// Its beginning, for people.
    pub excerpt: String,
}

impl RejectedMessage {
    /// How much of a refused text is shown.
    pub const EXCERPT: usize = 200;

    pub(crate) fn new(why: ParseError, id: Option<RequestId>, text: &[u8]) -> Self {
        let head = &text[..text.len().min(Self::EXCERPT)];
        Self { why, id, excerpt: String::from_utf8_lossy(head).into_owned() }
    }
}
