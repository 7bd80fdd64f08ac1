//! A task that is awaited for a client.

use toolbay_host::{CallEventSender, HostRequest, InFlight, Resume, Routed};
use toolbay_protocol::{ErrorObject, ObjectBuilder, method};

use super::{Task, our_request};
use crate::request::client::RequestClient;

/// A task that is waited for on behalf of a client which gets its result as the response to a call. Dropping it before that
/// cancels the task.
pub(crate) struct AwaitedTask {
    client: RequestClient,
    task: Task,
    ended: bool,
}

impl AwaitedTask {
    pub(crate) fn new(client: RequestClient, task: Task) -> Self {
        Self { client, task, ended: false }
    }

    /// Nothing is left to cancel.
    pub(crate) fn ended(mut self) {
        self.ended = true;
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// Sends a request about the task to its server, with the input that the server requires (JSON text of an object).
    pub(crate) fn request(
        &self,
        method_name: &str,
        input: Option<&str>,
        events: Option<CallEventSender>,
    ) -> Result<InFlight, ErrorObject> {
        let mut params = ObjectBuilder::new().raw("taskId", &self.task.id);
        if let Some(input) = input {
            params = params.raw("inputResponses", input);
        }
        let request =
            our_request(&self.client, method_name, params).ok_or_else(crate::error::unknown_task)?;
        let resumes = Some(Resume { server: self.task.server.clone(), state: None });
        let caller = self.client.caller(method_name);
        match self.client.host.dispatch(HostRequest { request: request.into(), caller, events, resumes }) {
            Routed::Sent(call) => Ok(call),
            Routed::Refused(error) => Err(error),
            // Rules and answers of the host are about arguments.
            Routed::Answered(_) | Routed::Denied(_) | Routed::Ask(_) => Err(crate::error::unknown_task()),
        }
    }
}

impl Drop for AwaitedTask {
    fn drop(&mut self) {
        // At the end of the process there may be no runtime any more, and then no server either.
        let (false, Ok(runtime)) = (self.ended, tokio::runtime::Handle::try_current()) else { return };
        if let Ok(call) = self.request(method::TASKS_CANCEL, None, None) {
            // The response is not needed, but a call that is dropped is not sent.
            self.client.host.tasks().spawn_on(async move { drop(call.await) }, &runtime);
        }
    }
}

impl std::fmt::Debug for AwaitedTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Awaited").field(&self.task).finish()
    }
}
