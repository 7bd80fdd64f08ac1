//! What a server wants to know from a client in the middle of a call.

use tokio::sync::oneshot;
use toolbay_protocol::{ErrorCode, ErrorObject, Request, Revision, method};

/// A question of a server with a handshake. Dropping it unanswered tells the server that there will be no answer.
#[derive(Debug)]
pub struct ServerRequest {
    /// What it asks, as the server wrote it.
    pub request: Box<Request>,
    /// The revision in which it is written.
    pub revision: Revision,
    reply: oneshot::Sender<ClientReply>,
}

/// The answer to a question.
#[derive(Debug, Clone)]
pub enum ClientReply {
    /// A result, as JSON text.
    Result(String),
    /// The client cannot or will not answer.
    Error(ErrorObject),
}

impl ServerRequest {
    pub(crate) fn new(request: Box<Request>, revision: Revision) -> (Self, oneshot::Receiver<ClientReply>) {
        let (reply, answer) = oneshot::channel();
        (Self { request, revision, reply }, answer)
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.request.call.method()
    }

    /// The parameters as JSON text.
    pub fn params(&self) -> Option<&str> {
        self.request.call.params_text()
    }

    /// Answers it. A server that no longer wants to know gets nothing.
    pub fn respond(self, reply: ClientReply) {
        let _ = self.reply.send(reply);
    }

    /// Tells the server that this client cannot be asked that.
    pub fn refuse(self) {
        let error = unsupported(self.method());
        self.respond(ClientReply::Error(error));
    }

    /// Waits until the server no longer wants to know. Cancel safe.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// Whether a request of a server is meant for the client of a call.
pub(crate) fn is_server_request(asked: &str) -> bool {
    matches!(asked, method::ELICIT | method::SAMPLE | method::ROOTS_LIST)
}

/// The answer to what a client does not understand.
pub(crate) fn unsupported(asked: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("the client does not support `{asked}`"))
}
