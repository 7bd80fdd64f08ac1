//! Connections inside this process.

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolbay_protocol::Message;

use crate::{
    Connection, Outgoing,
    connection::{Incoming, RejectedMessage},
};

/// A connection between two tasks of this process: what one end sends, the other receives.
///
/// Messages are sent as text and parsed, as on any transport, so that a server in process is no
/// special case.
pub fn pair(tasks: &TaskTracker) -> (Connection, Connection) {
    let (left_out, right_in) = direction(tasks);
    let (right_out, left_in) = direction(tasks);
    (
        Connection { outgoing: left_out, incoming: left_in },
        Connection { outgoing: right_out, incoming: right_in },
    )
}

fn direction(tasks: &TaskTracker) -> (mpsc::Sender<Outgoing>, mpsc::Receiver<Incoming>) {
    let (outgoing, mut texts) = mpsc::channel::<Outgoing>(Connection::QUEUE);
    let (messages, incoming) = mpsc::channel(Connection::QUEUE);
    tasks.spawn(async move {
        while let Ok(slot) = messages.reserve().await {
            let text = tokio::select! {
                biased;
                text = texts.recv() => text,
                // Dropping `texts` is how the sender notices, which else would wait for its next message to fail.
                () = messages.closed() => return,
            };
            let Some(text) = text.map(|text| text.into_text().into_bytes()) else { return };
            slot.send(match Message::parse(text.clone()) {
                Ok(message) => Incoming::Message(message),
                Err(why) => Incoming::Refused(RejectedMessage::new(why, None, &text)),
            });
        }
    });
    (outgoing, incoming)
}
