//! Tasks: calls that go on after their response.
//!
//! A server responds to a call with the id of a task; with the id, a client can poll, update and cancel it. The hub
//! keeps no list of tasks: a client gets the id under a seal that says whose task it is, and brings it back. Ids of
//! other clients, and invented ids, do not open, and no server sees them.

mod awaited;
mod ids;
mod watch;

use toolbay_protocol::{Message, ObjectBuilder, Request, Revision, ServerName, method};

use crate::request::client::RequestClient;

pub(crate) use self::{
    awaited::AwaitedTask,
    ids::{KnownTasks, Sealing, task_of},
    watch::TaskWatch,
};
pub(crate) use crate::seal::task_id::TaskSeal;

/// A task, as its server knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Task {
    pub(crate) server: ServerName,
    pub(crate) kind: TaskProtocol,
    /// Its id, as the server wrote it: a JSON string.
    pub(crate) id: String,
}

/// Which protocol a task follows. They have method names in common, and little else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TaskProtocol {
    /// The extension of modern revisions.
    Extension,
    /// The experiment of 2025-11-25.
    Experiment,
}

impl TaskProtocol {
    /// The kind that those who speak a revision know, if they know any.
    pub(crate) fn of(revision: Revision) -> Option<Self> {
        let features = revision.features();
        if features.has_task_extension() {
            Some(Self::Extension)
        } else {
            features.has_experimental_tasks().then_some(Self::Experiment)
        }
    }

    /// Whether a request is about a task of this kind.
    pub(crate) fn has_method(self, method_name: &str) -> bool {
        match self {
            Self::Extension => {
                matches!(method_name, method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL)
            }
            Self::Experiment => {
                matches!(method_name, method::TASKS_GET | method::TASKS_RESULT | method::TASKS_CANCEL)
            }
        }
    }
}

/// A request of our own, in the revision of the client it is sent for.
pub(crate) fn our_request(
    client: &RequestClient,
    method: &str,
    mut params: ObjectBuilder,
) -> Option<Box<Request>> {
    if client.revision.features().has_request_meta() {
        let fields = client.identity.fields().iter();
        let meta = fields.fold(ObjectBuilder::new(), |meta, (key, value)| meta.raw(key, value));
        params = params.raw("_meta", &meta.finish());
    }
    match Message::parse(toolbay_protocol::request(&0.into(), method, Some(&params.finish()))) {
        Ok(Message::Request(request)) => Some(request),
        _ => None, // what is in it was part of messages before
    }
}
