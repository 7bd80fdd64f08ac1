//! A server with a handshake asks something in the middle of a call.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
    task::{Context, Poll},
};

use tokio::sync::oneshot;
use toolbay_host::{ClientReply, ServerRequest};
use toolbay_protocol::method;
use toolbay_translate as translate;

use super::{CallStage, ClientCall, FinalResponse};
use crate::{
    error,
    seal::Binding,
    session::pending_requests::PendingServerRequest,
    suspended::{self, GATHER, answerable},
};

/// Questions that the client was asked in messages of their own, and has not answered yet.
#[derive(Default)]
pub(super) struct OpenServerRequests(Vec<OpenServerRequest>);

struct OpenServerRequest {
    id: u64,
    reply: oneshot::Receiver<ClientReply>,
    asker: RequestOrigin,
}

/// Who wants to know.
pub(super) enum RequestOrigin {
    /// A server that waits in the middle of the call.
    Server(Box<ServerRequest>),
    /// One that gets the answers in a request of ours: under this key, in answer to this method.
    Retry { key: String, method: String },
}

impl OpenServerRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, put: PendingServerRequest, asker: RequestOrigin) {
        self.0.push(OpenServerRequest { id: put.id, reply: put.reply, asker });
    }
}

/// An id for an elicitation, for clients that want one.
pub(super) fn elicitation_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("elicitation-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl ClientCall {
    /// Takes a question to the client, in the way of its era.
    pub(super) fn question(&mut self, question: ServerRequest) {
        let Some(session) = &self.client.session else {
            // The end of this request is the question.
            self.gathered.push(question);
            self.gathering.get_or_insert_with(|| Box::pin(tokio::time::sleep(GATHER)));
            return;
        };
        if !self.client.can_answer(question.method(), question.params()) {
            return question.refuse();
        }
        let (asked, from) = (question.method(), question.revision);
        let put = translate::translate_server_request(
            asked,
            question.params(),
            from,
            self.client.revision,
            &elicitation_id(),
        )
        .ok()
        .and_then(|params| session.request(asked, &self.with_sealed_question(params)));
        match put {
            Some(put) => {
                self.due.push_back(put.text.clone().into());
                self.asking.add(put, RequestOrigin::Server(Box::new(question)));
            }
            None => question.refuse(),
        }
    }

    /// Looks for answers of the client; says whether something happened.
    pub(super) fn poll_asking(&mut self, context: &mut Context<'_>) -> bool {
        let mut index = 0;
        let mut happened = false;
        while let Some(open) = self.asking.0.get_mut(index) {
            if let Poll::Ready(reply) = Pin::new(&mut open.reply).poll(context) {
                let OpenServerRequest { asker, .. } = self.asking.0.swap_remove(index);
                self.replied(asker, reply.ok());
                happened = true;
            } else if let RequestOrigin::Server(question) = &mut open.asker
                && question.poll_withdrawn(context).is_ready()
            {
                let params = format!(r#"{{"requestId":{}}}"#, open.id);
                self.due.push_back(toolbay_protocol::notification(method::CANCELLED, Some(&params)).into());
                self.asking.0.swap_remove(index);
                happened = true;
            } else {
                index += 1;
            }
        }
        happened
    }

    fn replied(&mut self, asker: RequestOrigin, reply: Option<ClientReply>) {
        match (asker, reply) {
            (RequestOrigin::Server(question), Some(ClientReply::Result(result))) => {
                let (from, to) = (self.client.revision, question.revision);
                let result = translate::translate_client_response(question.method(), &result, from, to);
                let task = question.params().and_then(translate::related_task);
                // An answer says which task it is about, too.
                question.respond(ClientReply::Result(match task {
                    Some(id) => translate::with_related_task(&result, &id),
                    None => result,
                }));
            }
            (RequestOrigin::Server(question), Some(error)) => question.respond(error),
            (RequestOrigin::Server(_), None) => {} // dropping the question tells the server
            (RequestOrigin::Retry { key, method }, reply) => self.answered_for_retry(key, &method, reply),
        }
    }

    /// Ends this request with the questions that were gathered; the call waits for the answers. What the client
    /// cannot be asked is refused, and if that is all of it, the call goes on.
    pub(super) fn park(&mut self) -> Option<FinalResponse> {
        self.gathering = None;
        let abilities = self.client.abilities();
        let (questions, refused) = answerable(std::mem::take(&mut self.gathered), abilities);
        if questions.is_empty() {
            refused.into_iter().for_each(ServerRequest::refuse);
            return None;
        }
        let source = std::mem::replace(&mut self.source, CallStage::Gone);
        let CallStage::Call(live) = source else {
            return Some(self.failed(&error::too_many_server_requests()));
        };
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let asker = suspended::SuspendedRequest { revision: self.client.revision, abilities, binding };
        let parked = self.gateway.suspended.park(live, questions, asker);
        // Only now, so that what the server makes of it finds the call parked.
        refused.into_iter().for_each(ServerRequest::refuse);
        Some(match parked {
            Ok(result) => FinalResponse::result(self.id(), &result),
            Err(_) => self.failed(&error::too_many_server_requests()),
        })
    }
}
