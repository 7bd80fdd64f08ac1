//! Calls that a server of 2025-11-25 does only as a task: their answer is the end of the task.

use serde_json::{Map, Value};
use toolbay_host::Resume;
use toolbay_protocol::method;
use toolbay_upstream::CallResponse;

use super::{CallEngine, SendOutcome};
use crate::Error;

/// The id of the task that a call became, if it became one.
pub(super) fn task_of(answer: &CallResponse) -> Option<Value> {
    if !answer.revision.features().has_experimental_tasks() {
        return None;
    }
    let task = answer.response.result_field("task").map(|span| answer.response.raw(span))?;
    let task: Value = serde_json::from_str(task).ok()?;
    task.get("taskId").filter(|id| id.is_string()).cloned()
}

impl CallEngine<'_> {
    /// Waits for the end of a task. Dropping the future cancels it.
    pub(super) async fn await_task(&self, id: Value) -> Result<String, Error> {
        let mut task = Task { exchange: self, id, has_ended: false };
        let answer = match task.send(method::TASKS_RESULT)? {
            SendOutcome::Known(result) => return Ok(result),
            SendOutcome::Call(call) => self.follow(call).await?,
        };
        task.has_ended = true;
        Ok(self.result(&answer)?.to_owned())
    }
}

/// A task that somebody waits for.
struct Task<'a, 'b> {
    exchange: &'a CallEngine<'b>,
    id: Value,
    has_ended: bool,
}

impl Task<'_, '_> {
    fn send(&self, asked: &str) -> Result<SendOutcome, Error> {
        let params = Map::from_iter([("taskId".to_owned(), self.id.clone())]);
        let resumes = Resume { server: self.exchange.server.clone(), state: None };
        self.exchange.send(asked, &params, Some(resumes))
    }
}

impl Drop for Task<'_, '_> {
    fn drop(&mut self) {
        // At the end of the process there may be no runtime any more, and then no server either.
        let (false, Ok(runtime)) = (self.has_ended, tokio::runtime::Handle::try_current()) else { return };
        if let Ok(SendOutcome::Call(call)) = self.send(method::TASKS_CANCEL) {
            // Nobody waits for the answer, but a call that is dropped is not sent.
            self.exchange.line.tasks().spawn_on(async move { drop(call.outcome().await) }, &runtime);
        }
    }
}
