//! Waiting for a task of the stateless era on behalf of a client that knows no tasks.

use std::{
    collections::HashSet,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};
use toolbay_host::{CallError, CallResponse, InFlight};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Response, Revision, decode_string, method};
use toolbay_translate as translate;

use super::{
    CallStage, CallStep, ClientCall, input_required::InputResponses, server_requests::OpenServerRequests,
};
use crate::{error, tasks::AwaitedTask};

/// How often a task is looked at whose server does not say how often it wants that; and never more often than this.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// A task that asks more than this asks without end.
const MAX_QUESTIONS: usize = 256;

/// A task, and what is being done about it.
pub(super) struct TaskWait {
    task: AwaitedTask,
    doing: TaskWaitState,
    total: Duration,
    deadline: Pin<Box<Sleep>>,
    pause: Duration,
    /// Questions that were put to the client; a server may show one until it has the answer.
    asked: HashSet<String>,
    /// What the client answered to those that are open.
    pub(super) answers: InputResponses,
}

enum TaskWaitState {
    Pausing(Pin<Box<Sleep>>),
    Looking(InFlight),
    /// The client is asked, and the clock stands still since then.
    Asking(Instant),
    Telling(InFlight),
}

/// What is to be done next.
pub(super) enum TaskWaitStep {
    Look,
    Looked(Result<CallResponse, CallError>),
    Tell,
    Told(Result<CallResponse, CallError>),
    TooLate,
}

impl TaskWait {
    /// Waits for a task, no longer than `total`. `first` is how it stood when it began.
    pub(super) fn new(task: AwaitedTask, total: Duration, first: &Response) -> Self {
        let pause = pause_of(first).unwrap_or(USUAL_PAUSE);
        let at_once = status_of(first).is_some_and(|status| status != "working");
        let first = if at_once { SHORTEST_PAUSE } else { pause };
        Self {
            task,
            doing: TaskWaitState::Pausing(Box::pin(sleep(first))),
            total,
            deadline: Box::pin(sleep(total)),
            pause,
            asked: HashSet::new(),
            answers: InputResponses::default(),
        }
    }

    pub(super) fn poll_turn(
        &mut self,
        context: &mut Context<'_>,
        asking: &OpenServerRequests,
    ) -> Poll<TaskWaitStep> {
        if let TaskWaitState::Asking(since) = &self.doing {
            if !asking.is_empty() {
                return Poll::Pending;
            }
            let until = self.deadline.deadline() + since.elapsed();
            self.deadline.as_mut().reset(until);
            return Poll::Ready(TaskWaitStep::Tell);
        }
        if self.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(TaskWaitStep::TooLate);
        }
        match &mut self.doing {
            TaskWaitState::Pausing(pause) => pause.as_mut().poll(context).map(|()| TaskWaitStep::Look),
            TaskWaitState::Looking(call) => Pin::new(call).poll(context).map(TaskWaitStep::Looked),
            TaskWaitState::Telling(call) => Pin::new(call).poll(context).map(TaskWaitStep::Told),
            TaskWaitState::Asking(_) => Poll::Pending,
        }
    }

    fn pause(&mut self) {
        self.doing = TaskWaitState::Pausing(Box::pin(sleep(self.pause)));
    }

    /// Sends a request about the task; what is given back ends the wait.
    fn send(
        &mut self,
        asked: &str,
        more: &str,
        doing: impl FnOnce(InFlight) -> TaskWaitState,
    ) -> Result<(), ErrorObject> {
        self.doing = doing(self.task.request(asked, more, None)?);
        Ok(())
    }
}

/// How a task ended.
enum TaskEnd {
    /// With an answer to the call: a message under an id of ours.
    Answer(Bytes),
    Error(ErrorObject),
}

impl ClientCall {
    /// Does what is next about a task; nothing while it goes on.
    pub(super) fn take_turn(&mut self, turn: TaskWaitStep) -> Option<CallStep> {
        let CallStage::Task(waiting) = &mut self.source else { return None };
        let done = match turn {
            TaskWaitStep::Look => waiting.send(method::TASKS_GET, "", TaskWaitState::Looking),
            TaskWaitStep::Tell => match waiting.answers.failed.take() {
                Some(error) => Err(error),
                None => {
                    let given = std::mem::take(&mut waiting.answers.given);
                    let responses = translate::input_responses(&given);
                    waiting.send(
                        method::TASKS_UPDATE,
                        &format!(",\"inputResponses\":{responses}"),
                        TaskWaitState::Telling,
                    )
                }
            },
            TaskWaitStep::Told(Ok(told)) if told.response.error().is_none() => {
                waiting.pause();
                Ok(())
            }
            TaskWaitStep::Looked(Ok(looked)) if looked.response.error().is_none() => {
                return self.looked(&looked.response);
            }
            // It forgot the task, or will not have it: that is how the call ends.
            TaskWaitStep::Looked(Ok(answered)) | TaskWaitStep::Told(Ok(answered)) => {
                return Some(CallStep::Final(self.answered(&answered)));
            }
            TaskWaitStep::Looked(Err(error)) | TaskWaitStep::Told(Err(error)) => {
                Err(error::call_failed(&error))
            }
            TaskWaitStep::TooLate => {
                let (server, total) = (waiting.task.task().server.clone(), waiting.total);
                Err(error::call_failed(&CallError::TooLong { server, total }))
            }
        };
        done.err().map(|error| CallStep::Final(self.failed(&error)))
    }

    /// Takes how a task stands now.
    fn looked(&mut self, task: &Response) -> Option<CallStep> {
        let CallStage::Task(waiting) = &mut self.source else { return None };
        if let Some(pause) = pause_of(task) {
            waiting.pause = pause;
        }
        if let Some(end) = end_of(task) {
            if let CallStage::Task(waiting) = std::mem::replace(&mut self.source, CallStage::Gone) {
                waiting.task.ended();
            }
            return Some(CallStep::Final(self.task_ended(end)));
        }
        let mut questions = translate::task_input_requests(task).unwrap_or_default();
        questions.retain(|question| waiting.asked.insert(question.key.clone()));
        if questions.is_empty() {
            waiting.pause();
            return None;
        }
        if waiting.asked.len() > MAX_QUESTIONS {
            return Some(CallStep::Final(self.failed(&error::too_many_server_requests())));
        }
        waiting.doing = TaskWaitState::Asking(Instant::now());
        self.ask_session(questions).err().map(|error| CallStep::Final(self.failed(&error)))
    }

    fn task_ended(&self, end: TaskEnd) -> super::FinalResponse {
        let answer = match end {
            TaskEnd::Answer(answer) => Message::parse(answer),
            TaskEnd::Error(error) => return self.failed(&error),
        };
        match answer {
            Ok(Message::Response(response)) => {
                self.answered(&CallResponse { response, revision: Revision::LATEST })
            }
            _ => self.failed(&ended("with something that is no result")),
        }
    }
}

fn status_of(task: &Response) -> Option<std::borrow::Cow<'_, str>> {
    decode_string(&task.text[task.result_field("status")?.range()])
}

fn pause_of(task: &Response) -> Option<Duration> {
    let millis = task.raw(task.result_field("pollIntervalMs")?).parse().ok()?;
    Some(Duration::from_millis(millis).max(SHORTEST_PAUSE))
}

/// How a task ended, if it did.
fn end_of(task: &Response) -> Option<TaskEnd> {
    let field = |name| task.result_field(name).map(|span| task.raw(span));
    Some(match (status_of(task)?.as_ref(), field("result"), field("error")) {
        ("completed", Some(result), _) => TaskEnd::Answer(toolbay_protocol::result(&0.into(), result)),
        ("failed", _, Some(error)) => TaskEnd::Answer(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{error}}}").replace(['\n', '\r'], " ").into(),
        ),
        ("completed", None, _) => TaskEnd::Error(ended("without a result")),
        ("failed", _, None) => TaskEnd::Error(ended("without an error that says why")),
        ("cancelled", ..) => TaskEnd::Error(ended("because the server cancelled it")),
        _ => return None,
    })
}

fn ended(how: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, format!("the call became a task, which ended {how}"))
}
