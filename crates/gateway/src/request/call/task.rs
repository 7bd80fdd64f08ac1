//! Answers that are tasks, or about tasks.

use toolbay_host::CallResponse;
use toolbay_protocol::{Notification, Response, meta, method};
use toolbay_translate as translate;

use super::{CallStage, CallStep, ClientCall, task_wait::TaskWait};
use crate::{
    error,
    request::call::live::LiveCall,
    tasks::{AwaitedTask, Sealing, Task, TaskProtocol, task_of},
};

impl ClientCall {
    /// An answer with the ids of tasks that the client gets; nothing if there are none in it.
    pub(super) fn with_sealed_ids(&self, answered: &CallResponse) -> Option<Box<Response>> {
        let CallResponse { response, revision } = answered;
        let CallStage::Call(live) = &self.source else { return None };
        let kind = TaskProtocol::of(*revision)?;
        let sealing = self.sealing(kind)?;
        if self.method() == method::TOOLS_CALL {
            let task = task_of(response, *revision, live.server())?; // nearly every answer ends here
            if let (Some(session), Some(id)) = (&self.client.session, sealing.plain_id(&task.id)) {
                session.got_task(task, id);
            }
        } else if !kind.has_method(self.method()) {
            return None;
        }
        sealing.response(response)
    }

    /// A notification with the id that the client gets for the task it is about; nothing if it is about none.
    pub(super) fn with_sealed_task(&self, notification: &Notification) -> Option<Box<Notification>> {
        notification.meta(meta::RELATED_TASK)?;
        self.sealing(TaskProtocol::Experiment)?.notification(notification)
    }

    /// A question (JSON text) with the id that the client gets for the task it is about.
    pub(super) fn with_sealed_question(&self, params: String) -> String {
        let related = translate::related_task(&params);
        let sealed = related.and_then(|id| self.sealing(TaskProtocol::Experiment)?.id(&id));
        match sealed {
            Some(id) => translate::with_related_task(&params, &id),
            None => params,
        }
    }

    fn sealing(&self, kind: TaskProtocol) -> Option<Sealing<'_>> {
        let CallStage::Call(live) = &self.source else { return None };
        let (seal, principal) = (&self.gateway.task_seal, self.client.principal());
        Some(Sealing { seal, principal, server: live.server(), kind })
    }

    /// The task that the call became, when its client knows no such tasks and waits for the end.
    pub(super) fn task_to_await(&self, answered: &CallResponse) -> Option<Task> {
        let CallResponse { response, revision } = answered;
        let CallStage::Call(live) = &self.source else { return None };
        if self.method() != method::TOOLS_CALL
            || TaskProtocol::of(*revision) == TaskProtocol::of(self.client.revision)
        {
            return None;
        }
        task_of(response, *revision, live.server())
    }

    /// Waits for the end of a task, which answers the request.
    pub(super) fn await_task(&mut self, task: Task, first: &Response) -> Option<CallStep> {
        let awaited = AwaitedTask::new(self.gateway.host.clone(), self.client.clone(), task);
        match awaited.task().kind {
            TaskProtocol::Extension => {
                let Some(server) = self.gateway.host.server(awaited.task().server.as_str()) else {
                    return Some(CallStep::Final(self.failed(&error::unknown_task())));
                };
                let total = server.timeouts().total;
                self.source = CallStage::Task(Box::new(TaskWait::new(awaited, total, first)));
            }
            TaskProtocol::Experiment => {
                let (sender, events) = self.events(&self.client.caller(self.method()));
                match awaited.request(method::TASKS_RESULT, "", sender) {
                    Ok(call) => self.source = CallStage::Call(LiveCall::new(call, events).awaiting(awaited)),
                    Err(error) => return Some(CallStep::Final(self.failed(&error))),
                }
            }
        }
        None
    }
}
