//! The echo server on a long-lived connection.

use bytes::Bytes;
use toolbay_transport::{Connection, Incoming};

use super::answer::{Outcome, answer};

/// Serves until the client is gone.
pub(super) async fn serve(mut wire: Connection) {
    while let Some(incoming) = wire.incoming.recv().await {
        let Incoming::Message(message) = incoming else { continue };
        let mut out = Vec::new();
        if answer(message.text(), &mut out) != Outcome::Silent
            && wire.outgoing.send(Bytes::from(out).into()).await.is_err()
        {
            return;
        }
    }
}
