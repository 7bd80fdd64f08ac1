//! Calls that become tasks, and messages about tasks.

use std::{borrow::Cow, collections::HashSet, future::Future, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout_at};
use toolbay_host::{CallError, CallResponse, RunningCall, events};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, ObjectBuilder, Response, Revision, decode_string, meta,
    method,
};
use toolbay_translate as translate;

use super::{CallRun, FinalResponse, Followed, OrResponse};
use crate::{
    error,
    tasks::{AwaitedTask, Sealing, Task, TaskProtocol, task_of},
};

/// How often a task is polled whose server does not say how often it wants that, and the shortest interval.
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// A task that requires more input than this does so without end.
const MAX_INPUT_REQUESTS: usize = 256;

impl CallRun {
    /// The task that the call became, when its client knows no such tasks and waits for the end.
    pub(super) fn task_to_await(&self, answered: &CallResponse) -> Option<Task> {
        let CallResponse { response, revision } = answered;
        if self.method() != method::TOOLS_CALL
            || TaskProtocol::of(*revision) == TaskProtocol::of(self.client.revision)
        {
            return None;
        }
        task_of(response, *revision, self.server.as_ref()?)
    }

    /// Waits for the end of a task, which is the response to the request. `created` is the task as its server created it.
    pub(super) async fn await_task(&mut self, task: Task, created: &Response) -> OrResponse<FinalResponse> {
        let task = AwaitedTask::new(self.client.clone(), task);
        match task.task().kind {
            TaskProtocol::Extension => self.poll_task(task, created).await,
            TaskProtocol::Experiment => {
                let (sender, events) = self.wants_events.then(events).unzip();
                let call =
                    task.request(method::TASKS_RESULT, None, sender).map_err(|error| self.failed(&error))?;
                let mut call = RunningCall::new(call, events);
                match self.follow(&mut call).await? {
                    Followed::Response(response) => {
                        task.ended();
                        self.finished(response).await
                    }
                    // The login ended while the task ran, and its result cannot be had without.
                    Followed::LoginRequired(server) => {
                        return Err(self.login_page(&server).await);
                    }
                    Followed::ServerRequests { requests, refused } => {
                        Err(self.suspend(call, Some(task), requests, refused))
                    }
                }
            }
        }
    }

    /// Polls a task of the extension until it has ended, and has the client provide the input that it requires.
    async fn poll_task(&mut self, task: AwaitedTask, created: &Response) -> OrResponse<FinalResponse> {
        self.server = None; // what the client gets from here on is not about the task
        let server = self.client.host.server(task.task().server.as_str());
        let total = server.ok_or_else(|| self.failed(&error::unknown_task()))?.timeouts().total;
        let mut deadline = Instant::now() + total;
        let mut interval = interval_of(created).unwrap_or(USUAL_INTERVAL);
        let is_working = status_of(created).is_none_or(|status| status == "working");
        let mut pause = if is_working { interval } else { SHORTEST_INTERVAL };
        let mut seen = HashSet::new(); // a server may show a request until it has the response
        loop {
            self.before(deadline, total, &task, sleep(pause).map(Ok)).await?;
            let call = task.request(method::TASKS_GET, None, None).map_err(|error| self.failed(&error))?;
            let state = self.before(deadline, total, &task, call).await?;
            if state.response.error().is_some() {
                return Ok(self.translated(&state)); // the server forgot the task, or refuses it
            }
            if let Some(end) = end_of(&state.response) {
                task.ended();
                return self.task_response(end).await;
            }
            interval = interval_of(&state.response).unwrap_or(interval);
            pause = interval;
            let mut requests = translate::task_input_requests(&state.response).unwrap_or_default();
            requests.retain(|request| seen.insert(request.key.clone()));
            if requests.is_empty() {
                continue;
            }
            if seen.len() > MAX_INPUT_REQUESTS {
                return Err(self.failed(&error::too_many_server_requests()));
            }
            let sent_at = Instant::now();
            let input = self.ask_for_input(requests).await.map_err(|error| self.failed(&error))?;
            deadline += sent_at.elapsed(); // the time of the client is not the server's
            let input = translate::input_responses(&input);
            let call = task
                .request(method::TASKS_UPDATE, Some(&input), None)
                .map_err(|error| self.failed(&error))?;
            let updated = self.before(deadline, total, &task, call).await?;
            if updated.response.error().is_some() {
                return Ok(self.translated(&updated));
            }
        }
    }

    /// Does something about a task before its deadline.
    async fn before<T>(
        &self,
        deadline: Instant,
        total: Duration,
        task: &AwaitedTask,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> OrResponse<T> {
        let late = |_| Err(CallError::TooLong { server: task.task().server.clone(), total });
        let outcome = timeout_at(deadline, work).await.unwrap_or_else(late);
        outcome.map_err(|error| self.failed(&error::call_failed(&error)))
    }

    async fn task_response(&self, end: Result<String, ErrorObject>) -> OrResponse<FinalResponse> {
        match end.map(|response| Message::parse(response.into())) {
            Ok(Ok(Message::Response(response))) => {
                self.finished(CallResponse { response, revision: Revision::LATEST }).await
            }
            Ok(_) => Err(self.failed(&ended("with something that is no result"))),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// A response with the ids of tasks that the client gets; none if there are none in it.
    pub(super) fn with_sealed_ids(&self, answered: &CallResponse) -> Option<Box<Response>> {
        let CallResponse { response, revision } = answered;
        let kind = TaskProtocol::of(*revision)?;
        let sealing = self.sealing(kind)?;
        if self.method() == method::TOOLS_CALL {
            let task = task_of(response, *revision, sealing.server)?; // nearly every response ends here
            if let (Some(session), Some(id)) = (&self.client.session, sealing.plain_id(&task.id)) {
                session.add_task(task, id);
            }
        } else if !kind.has_method(self.method()) {
            return None;
        }
        sealing.response(response)
    }

    /// A notification with the id that the client gets for the task it is about; none if it is about none.
    pub(super) fn with_sealed_task(&self, notification: &Notification) -> Option<Box<Notification>> {
        notification.meta(meta::RELATED_TASK)?;
        self.sealing(TaskProtocol::Experiment)?.notification(notification)
    }

    /// The parameters of a server request with the id that the client gets for the task it is about.
    pub(super) fn with_sealed_request(&self, params: String) -> String {
        let related = translate::related_task(&params);
        let sealed = related.and_then(|id| self.sealing(TaskProtocol::Experiment)?.id(&id));
        match sealed {
            Some(id) => translate::with_related_task(&params, &id),
            None => params,
        }
    }

    fn sealing(&self, kind: TaskProtocol) -> Option<Sealing<'_>> {
        let (seal, principal) = (&self.gateway.task_seal, self.client.principal());
        Some(Sealing { seal, principal, server: self.server.as_ref()?, kind })
    }
}

fn status_of(task: &Response) -> Option<Cow<'_, str>> {
    decode_string(&task.text[task.result_field("status")?.range()])
}

fn interval_of(task: &Response) -> Option<Duration> {
    let millis = task.raw(task.result_field("pollIntervalMs")?).parse().ok()?;
    Some(Duration::from_millis(millis).max(SHORTEST_INTERVAL))
}

/// How a task ended, if it did: the response to the call, under an id of ours, or why there is none.
fn end_of(task: &Response) -> Option<Result<String, ErrorObject>> {
    let field = |name| task.result_field(name).map(|span| task.raw(span));
    let message = |outcome: &str, value: &str| {
        let message = ObjectBuilder::new().string("jsonrpc", "2.0").raw("id", "0").raw(outcome, value);
        message.finish().replace(['\n', '\r'], " ")
    };
    Some(match (status_of(task)?.as_ref(), field("result"), field("error")) {
        ("completed", Some(result), _) => Ok(message("result", result)),
        ("failed", _, Some(error)) => Ok(message("error", error)),
        ("completed", None, _) => Err(ended("without a result")),
        ("failed", _, None) => Err(ended("without an error that says why")),
        ("cancelled", ..) => Err(ended("because the server cancelled it")),
        _ => return None,
    })
}

fn ended(how: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("the call became a task, which ended {how}"))
}
