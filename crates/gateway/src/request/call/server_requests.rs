//! A legacy server sends a request to the client in the middle of a call.

use std::{
    future::{Future, pending},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::time::sleep;
use toolbay_audit::CallOutcome;
use toolbay_host::{CallError, CallEvent, CallResponse, CallUpdate, ClientReply, RunningCall, ServerRequest};
use toolbay_protocol::{Revision, Rope};
use toolbay_translate as translate;

use super::{CallRun, FinalResponse};
use crate::{
    error,
    seal::Binding,
    security::principal_usage::Limited,
    session::pending_requests::PendingServerRequest,
    suspended::{GATHER, SuspendedRequest},
    tasks::AwaitedTask,
};

/// Server requests that were sent to the client of a session. Each ends with the client's reply, or with what the client
/// is sent when the server withdraws the request.
pub(super) type OpenServerRequests =
    FuturesUnordered<Pin<Box<dyn Future<Output = Option<Rope>> + Send + Sync>>>;

/// An id for an elicitation, for clients that want one.
pub(super) fn elicitation_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("elicitation-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl CallRun {
    /// Prepares a server request for the client of a session and returns its text; one that the client does not support
    /// is refused.
    pub(super) fn ask_session(&mut self, request: Box<ServerRequest>) -> Option<Rope> {
        let to = self.client.revision;
        let session = self.client.session.as_ref();
        let session = session.filter(|_| self.client.supports(request.method(), request.params()));
        let pending = session.and_then(|session| {
            let (method_name, params, from) = (request.method(), request.params(), request.revision);
            let params =
                translate::translate_server_request(method_name, params, from, to, &elicitation_id()).ok()?;
            session.request(method_name, &self.with_sealed_request(params))
        });
        let Some(pending) = pending else {
            request.refuse();
            return None;
        };
        let text = pending.text.clone().into();
        self.open.get_or_insert_default().push(Box::pin(reply(request, pending, to)));
        Some(text)
    }

    /// Waits a moment for more server requests. Returns how the call ended, if it did.
    pub(super) async fn gather(
        &self,
        call: &mut RunningCall,
        requests: &mut Vec<ServerRequest>,
    ) -> Option<Result<CallResponse, CallError>> {
        let mut moment = std::pin::pin!(sleep(GATHER));
        loop {
            tokio::select! {
                biased;
                update = call.next() => match update {
                    CallUpdate::Event(CallEvent::ServerRequest(request)) => requests.push(*request),
                    CallUpdate::Event(event) => self.pass_on(event).await,
                    CallUpdate::Ended(outcome) => return Some(outcome),
                },
                () = &mut moment => return None,
            }
        }
    }

    /// Ends the request with the server requests; the call is kept until the client returns with responses.
    pub(super) fn suspend(
        &self,
        call: RunningCall,
        task: Option<AwaitedTask>,
        requests: Vec<ServerRequest>,
        refused: Vec<ServerRequest>,
    ) -> FinalResponse {
        if self.client.is_in_code {
            return self.failed(&error::no_input_in_code());
        }
        let binding = Binding::of(self.client.principal(), &self.request.call);
        let client = SuspendedRequest {
            revision: self.client.revision,
            capabilities: self.client.capabilities(),
            binding,
        };
        let usage = self.gateway.usage.take(&self.client.access.principal, Limited::SuspendedCalls);
        let usage = match usage {
            Ok(usage) => usage,
            Err(limit) => return self.failed(&error::limit_reached(&limit)),
        };
        let suspended = self.gateway.suspended.suspend(call, task, requests, client, usage);
        // Only now, so that what the server makes of it finds the call suspended.
        refused.into_iter().for_each(ServerRequest::refuse);
        match suspended {
            Ok(result) => FinalResponse::result(self.id(), &result).with_outcome(CallOutcome::InputRequired),
            Err(_) => self.failed(&error::too_many_server_requests()),
        }
    }
}

/// Hands the client's reply to the server. When the server withdraws its request first, returns what tells the client.
async fn reply(
    mut request: Box<ServerRequest>,
    mut pending: PendingServerRequest,
    client: Revision,
) -> Option<Rope> {
    tokio::select! {
        biased;
        reply = &mut pending.reply => {
            if let Ok(reply) = reply {
                answer(*request, reply, client);
            } // else dropping the request tells the server
            None
        }
        () = request.withdrawn() => {
            Some(toolbay_protocol::cancelled(&pending.id.into(), None).into())
        }
    }
}

/// Answers a server request with the reply of a client that speaks `client`.
pub(crate) fn answer(request: ServerRequest, reply: ClientReply, client: Revision) {
    let reply = match reply {
        ClientReply::Result(result) => {
            let to = request.revision;
            let result = translate::translate_client_response(request.method(), &result, client, to);
            // A response says which task it is about, too.
            ClientReply::Result(match request.params().and_then(translate::related_task) {
                Some(id) => translate::with_related_task(&result, &id),
                None => result,
            })
        }
        error => error,
    };
    request.respond(reply);
}

/// Waits for replies of the client until the server withdraws a request; returns what tells the client. Cancel safe.
pub(super) async fn withdrawn(open: &mut Option<OpenServerRequests>) -> Rope {
    if let Some(open) = open {
        while let Some(ended) = open.next().await {
            if let Some(withdrawal) = ended {
                return withdrawal;
            }
        }
    }
    pending().await
}
