//! A request goes on with something that a server began.

use bytes::Bytes;
use toolbay_audit::CallOutcome;
use toolbay_host::Resume;
use toolbay_protocol::{ErrorCode, ErrorObject, MethodCall, ServerName};

use super::{CallRun, FinalResponse, may_require_input};
use crate::{
    error,
    seal::{Binding, SealedContent},
    suspended::{CallLink, LinkEnd},
    tasks::{Task, TaskProtocol},
};

/// What a request goes on with.
pub(super) enum Resumed {
    /// Nothing: it is a new one.
    New,
    /// The state of a server, or its task.
    AtServer(Resume),
    /// The answer of a person to what a rule asks.
    Approval { is_allowed: bool },
    /// A suspended call.
    Suspended(CallLink),
    /// Something that is not there.
    Refused(ErrorObject),
}

impl CallRun {
    /// Finds out what a request goes on with.
    pub(super) fn resumed(&self) -> Resumed {
        let call = &self.request.call;
        if let Some(kind) =
            TaskProtocol::of(self.client.revision).filter(|kind| kind.has_method(self.method()))
        {
            return self.task(call, kind);
        }
        if !self.client.revision.features().has_input_required() || !may_require_input(self.method()) {
            return Resumed::New;
        }
        let Some(span) = call.param("requestState") else { return Resumed::New };
        let Some(state) = call.string_param("requestState") else {
            return Resumed::Refused(invalid("`requestState` must be a string"));
        };
        let binding = Binding::of(self.client.principal(), call);
        let resumed = match self.gateway.seal.open(&state, &binding) {
            Ok(SealedContent::Suspended { id, exchange }) => {
                self.gateway.suspended.resume(id, exchange, call).map(Resumed::Suspended)
            }
            Ok(SealedContent::Upstream { server, state }) => {
                let server = ServerName::new(server);
                Some(Resumed::AtServer(Resume { server, state: Some((span, Bytes::from(state))) }))
            }
            Ok(SealedContent::Approval { id }) => {
                let is_allowed = self.is_form_accepted();
                self.gateway.pending.answered(id).then_some(Resumed::Approval { is_allowed })
            }
            Err(_) => None,
        };
        resumed.unwrap_or_else(|| {
            Resumed::Refused(invalid(
                "`requestState` was modified, has expired, or belongs to another request; send the request again without it",
            ))
        })
    }

    /// Finds the task that a request is about.
    fn task(&self, call: &MethodCall, kind: TaskProtocol) -> Resumed {
        let task = call.string_param("taskId").map(|id| {
            let task = self.gateway.task_seal.open(&id, self.client.principal()).ok();
            task.filter(|task| task.kind == kind)
        });
        match (task, call.param("taskId")) {
            (Some(Some(Task { server, id, .. })), Some(span)) => {
                Resumed::AtServer(Resume { server, state: Some((span, Bytes::from(id))) })
            }
            (Some(None), _) => Resumed::Refused(error::unknown_task()),
            _ => Resumed::Refused(invalid("`params.taskId` is missing or not a string")),
        }
    }

    /// Waits for what a suspended call comes to, and passes on what its server sends before.
    pub(super) async fn resume(mut self, mut link: CallLink) -> FinalResponse {
        let end = loop {
            tokio::select! {
                biased;
                Some(event) = link.events.recv() => self.pass_on(event).await,
                end = &mut link.end => break end,
            }
        };
        while let Some(event) = link.events.try_recv() {
            self.pass_on(event).await;
        }
        match end.unwrap_or_else(|_| LinkEnd::Refused(error::taken_over())) {
            LinkEnd::Answered(response) => {
                self.output = self.client.host.output_rules(&self.request.call);
                self.finished(response).await.unwrap_or_else(|response| response)
            }
            LinkEnd::Failed(error) => self.failed(&error::call_failed(&error)),
            LinkEnd::InputRequired(result) => {
                FinalResponse::result(self.id(), &result).with_outcome(CallOutcome::InputRequired)
            }
            LinkEnd::Refused(error) => self.failed(&error),
        }
    }
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
}
