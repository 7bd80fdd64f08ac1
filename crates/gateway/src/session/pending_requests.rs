//! Server requests that were sent to the client of a session and wait for its response.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::oneshot;
use toolbay_host::ClientReply;
use toolbay_protocol::{RequestId, Response};

/// How many server requests may wait for one client.
const MAX_OPEN: usize = 64;

/// Server requests that wait for a response, by their ids.
#[derive(Debug, Default)]
pub(crate) struct PendingServerRequests {
    last: u64,
    open: HashMap<u64, oneshot::Sender<ClientReply>>,
}

/// A server request for a client.
#[derive(Debug)]
pub(crate) struct PendingServerRequest {
    pub(crate) id: u64,
    /// The request to send.
    pub(crate) text: Bytes,
    /// Receives the response.
    pub(crate) reply: oneshot::Receiver<ClientReply>,
}

impl PendingServerRequests {
    /// Adds a server request, unless too many wait already.
    pub(crate) fn put(&mut self, method: &str, params: &str) -> Option<PendingServerRequest> {
        self.open.retain(|_, reply| !reply.is_closed());
        if self.open.len() >= MAX_OPEN {
            return None;
        }
        self.last += 1;
        let id = self.last;
        let (sender, reply) = oneshot::channel();
        self.open.insert(id, sender);
        Some(PendingServerRequest {
            id,
            text: toolbay_protocol::request(&id.into(), method, Some(params)),
            reply,
        })
    }

    /// Takes a response of the client. One that is not waited for is ignored.
    pub(crate) fn on_response(&mut self, response: &Response) {
        let id = response.id.as_ref().and_then(RequestId::as_number);
        let Some(waiting) = id.and_then(|id| self.open.remove(&id)) else { return };
        let reply = match (response.result_text(), response.error()) {
            (Some(result), _) => ClientReply::Result(result.to_owned()),
            (None, Some(error)) => ClientReply::Error(error),
            (None, None) => return,
        };
        let _ = waiting.send(reply); // the call may have ended just now
    }
}
