//! Server requests: finding their client, and returning its response.

use std::{collections::HashMap, sync::atomic::Ordering};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use tokio::sync::oneshot;
use toolbay_protocol::{
    ErrorCode, ErrorObject, ObjectBuilder, Request, RequestId, Revision, meta, method, model::Item,
};
use toolbay_supervise::LogSource;
use toolbay_transport::Outgoing;

use crate::{CallEvent, CallerId, call::table::RequestTarget, connection::UpstreamConnection};

/// How many server requests of one server may be open: some for each call that it may have.
const MAX_OPEN: usize = 1024;

/// The server requests that clients have not answered yet.
#[derive(Default)]
pub(super) struct ServerRequests {
    /// By the server's id.
    open: HashMap<RequestId, OpenServerRequest>,
    replies: FuturesUnordered<Abortable<BoxFuture<'static, ServerRequestReply>>>,
}

struct OpenServerRequest {
    request: Box<Request>,
    /// The call that carries it to the client, and whose call that is.
    call: u64,
    caller: Option<CallerId>,
    /// Forgets it.
    abort: AbortHandle,
}

/// The server's id of a server request, and its response unless the client went away.
type ServerRequestReply = (RequestId, Option<ClientReply>);

impl ServerRequests {
    /// Returns the next response of a client; pending while there are no server requests.
    pub(super) async fn next(&mut self) -> ServerRequestReply {
        loop {
            match self.replies.next().await {
                Some(Ok(reply)) => return reply,
                Some(Err(_)) => {} // the server does not want to know any more
                None => std::future::pending().await,
            }
        }
    }
}

impl UpstreamConnection<'_> {
    /// Handles a request of the server. `about` is our call on whose stream it came, where the transport knows.
    pub(super) fn on_server_request(&mut self, request: Box<Request>, about: Option<u64>) {
        let method = request.call.method();
        if method == method::PING {
            return self.respond(toolbay_protocol::result(&request.id, "{}"));
        }
        if method == method::ROOTS_LIST
            && let Some(roots) = &self.context.settings.roots
        {
            let result = ObjectBuilder::new().raw("roots", roots).finish();
            return self.respond(toolbay_protocol::result(&request.id, &result));
        }
        if !is_server_request(method) {
            return self.refuse(&request.id, &unsupported(method));
        }
        let about = about.or_else(|| self.waiting_for_task(&request));
        let call = match about
            .map_or_else(|| self.context.calls.target_of_server_request(), RequestTarget::Call)
        {
            RequestTarget::Call(call) => call,
            RequestTarget::None => return self.refuse(&request.id, &unsupported(method)),
            RequestTarget::Ambiguous => {
                self.context.outputs.has_ambiguous_requests.store(true, Ordering::Relaxed);
                let note =
                    format!("`{method}` arrived during calls of several clients; it does not name its call");
                self.context.outputs.log.push(LogSource::Event, &note);
                return self.refuse(&request.id, &ErrorObject::new(ErrorCode::INVALID_REQUEST, note));
            }
        };
        self.pose(request, call);
    }

    /// The call that waits for the task that a server request is about: the one case in which a server request says whose it
    /// is.
    fn waiting_for_task(&self, request: &Request) -> Option<u64> {
        let related = request.call.meta(meta::RELATED_TASK)?;
        let related = Item::parse(request.call.text.slice(related.range())).ok()?;
        self.context.calls.waits_for(related.raw("taskId")?.as_bytes())
    }

    /// Hands a server request to the client of a call.
    fn pose(&mut self, request: Box<Request>, call: u64) {
        let id = request.id.clone();
        let method = request.call.method().to_owned();
        if self.server_requests.open.len() >= MAX_OPEN || self.server_requests.open.contains_key(&id) {
            let error =
                ErrorObject::new(ErrorCode::INVALID_REQUEST, "too many server requests, or a duplicate id");
            return self.refuse(&id, &error);
        }
        let (question, reply) =
            ServerRequest::new(request.clone(), self.revision.unwrap_or(Revision::LATEST_LEGACY));
        let events = self.context.calls.server_request_sender(call);
        let question = CallEvent::ServerRequest(Box::new(question));
        if events.is_none_or(|events| events.send(question).is_err()) {
            return self.refuse(&id, &unsupported(&method));
        }
        self.context.calls.pause(call);
        let (abort, registration) = AbortHandle::new_pair();
        let response = {
            let id = id.clone();
            async move { (id, reply.await.ok()) }
        };
        self.server_requests.replies.push(Abortable::new(Box::pin(response), registration));
        let caller = self.context.calls.caller_of(call);
        self.server_requests.open.insert(id, OpenServerRequest { request, call, caller, abort });
    }

    /// Passes a client's response on.
    pub(super) fn replied(&mut self, id: &RequestId, reply: Option<ClientReply>) {
        let open = self.server_requests.open.remove(id);
        if let Some(open) = &open {
            self.context.calls.resume(open.call);
        }
        match reply {
            Some(ClientReply::Result(result)) => self.respond(toolbay_protocol::result(id, &result)),
            Some(ClientReply::Error(error)) => self.refuse(id, &error),
            // The call that carried it has ended, but its client is still there: then another call carries it.
            None if let Some(open) = open
                && let Some(call) = open.caller.and_then(|caller| self.context.calls.carrier(caller))
                && call != open.call =>
            {
                self.pose(open.request, call);
            }
            None => self.refuse(id, &ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the client disconnected")),
        }
    }

    /// The server does not want to know any more.
    pub(super) fn withdrawn(&mut self, id: &RequestId) {
        if let Some(open) = self.server_requests.open.remove(id) {
            open.abort.abort();
            self.context.calls.resume(open.call);
        }
    }

    fn refuse(&mut self, id: &RequestId, error: &ErrorObject) {
        self.respond(toolbay_protocol::error(Some(id), error));
    }

    fn respond(&mut self, text: Bytes) {
        self.send_within_capacity(Outgoing::response(text));
    }
}

/// A request of a legacy server. Dropping it tells the server that there will be no response.
#[derive(Debug)]
pub struct ServerRequest {
    /// The request as the server wrote it.
    pub request: Box<Request>,
    /// The revision in which it is written.
    pub revision: Revision,
    reply: oneshot::Sender<ClientReply>,
}

/// The response to a server request.
#[derive(Debug, Clone)]
pub enum ClientReply {
    /// A result, as JSON text.
    Result(String),
    /// The client refuses, or does not support it.
    Error(ErrorObject),
}

impl ServerRequest {
    pub(crate) fn new(request: Box<Request>, revision: Revision) -> (Self, oneshot::Receiver<ClientReply>) {
        let (reply, response) = oneshot::channel();
        (Self { request, revision, reply }, response)
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.request.call.method()
    }

    /// The parameters as JSON text.
    pub fn params(&self) -> Option<&str> {
        self.request.call.params_text()
    }

    /// Sends the response. If the server cancelled the request, it is dropped.
    pub fn respond(self, reply: ClientReply) {
        let _ = self.reply.send(reply);
    }

    /// Refuses it: this client does not support it.
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
pub(crate) fn is_server_request(method: &str) -> bool {
    matches!(method, method::ELICIT | method::SAMPLE | method::ROOTS_LIST)
}

/// The error for server requests that a client does not support.
pub(crate) fn unsupported(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("the client does not support `{method}`"))
}
