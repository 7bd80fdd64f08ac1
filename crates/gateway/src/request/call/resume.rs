//! A client of the stateless era comes back with answers.

use bytes::Bytes;
use toolbay_host::Resume;
use toolbay_protocol::{ErrorCode, ErrorObject, Notification, ServerName};

use super::{ClientCall, may_ask};
use crate::{
    error,
    seal::{Binding, SealedContent},
    suspended::CallLink,
    tasks::{Task, TaskProtocol},
};

/// What a request goes on with.
pub(super) enum Resumed {
    /// Nothing: it is a new one.
    Anew,
    /// The state of a server, or its task.
    At(Resume),
    /// A parked call.
    Parked(CallLink),
    /// Something that is not there.
    Refused(ErrorObject),
}

impl ClientCall {
    /// Finds out what a request goes on with.
    pub(super) fn resumed(&self) -> Resumed {
        let call = &self.request.call;
        if let Some(kind) =
            TaskProtocol::of(self.client.revision).filter(|kind| kind.has_method(self.method()))
        {
            return self.task(call, kind);
        }
        if !self.client.revision.is_modern() || !may_ask(self.method()) {
            return Resumed::Anew;
        }
        let Some(span) = call.param("requestState") else { return Resumed::Anew };
        let Some(state) = call.string_param("requestState") else {
            return Resumed::Refused(invalid("`requestState` must be a string"));
        };
        let binding = Binding::of(self.client.principal(), call);
        let resumed = match self.gateway.seal.open(&state, &binding) {
            Ok(SealedContent::Park { id, round }) => {
                self.gateway.suspended.attach(id, round, call).map(Resumed::Parked)
            }
            Ok(SealedContent::Upstream { server, state }) => {
                let server = ServerName::new(server);
                Some(Resumed::At(Resume { server, state: Some((span, Bytes::from(state))) }))
            }
            Err(_) => None,
        };
        resumed.unwrap_or_else(|| {
            Resumed::Refused(invalid(
                "`requestState` was changed, has expired, or belongs to another request; send the request anew without it",
            ))
        })
    }
}

impl ClientCall {
    /// Finds the task that a request is about.
    fn task(&self, call: &Notification, kind: TaskProtocol) -> Resumed {
        let task = call.string_param("taskId").map(|id| {
            let task = self.gateway.task_seal.open(&id, self.client.principal()).ok();
            task.filter(|task| task.kind == kind)
        });
        match (task, call.param("taskId")) {
            (Some(Some(Task { server, id, .. })), Some(span)) => {
                Resumed::At(Resume { server, state: Some((span, Bytes::from(id))) })
            }
            (Some(None), _) => Resumed::Refused(error::unknown_task()),
            _ => Resumed::Refused(invalid("`params.taskId` is missing or not a string")),
        }
    }
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
}
