//! A request on its way to a server and back.

mod input_required;
pub(crate) mod live;
mod resume;
mod server_requests;
mod task;
mod task_wait;

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::Sleep;
use toolbay_host::{
    CallError, CallEvent, CallEventSender, CallEvents, CallResponse, Caller, HostRequest, Resume, Routed,
    ServerRequest, events,
};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Request, RequestId, Revision, Rope, meta, method};
use toolbay_translate::{InputRequest, InputRequired, progress, translate_response, url_elicitations};

use self::{
    input_required::Retry, resume::Resumed, server_requests::OpenServerRequests, task_wait::TaskWait,
};
use crate::{
    error,
    gateway::Gateway,
    request::{
        call::live::{LiveCall, LiveEvent},
        client::RequestClient,
    },
    session::RunningRequest,
    suspended::{CallLink, LinkEnd, LinkEvent},
};

/// A running request. Dropping it cancels the call.
pub(crate) struct ClientCall {
    gateway: Arc<Gateway>,
    client: RequestClient,
    running: Option<RunningRequest>,
    /// What the client sent.
    request: Arc<Request>,
    source: CallStage,
    /// What the client is told before anything else.
    due: VecDeque<Rope>,
    /// Questions that the client was asked in messages of their own.
    asking: OpenServerRequests,
    /// Questions that are about to end this request, and when they do.
    gathered: Vec<ServerRequest>,
    gathering: Option<Pin<Box<Sleep>>>,
    input_rounds: u32,
}

/// Where the answer comes from.
enum CallStage {
    /// A call at a server.
    Call(LiveCall),
    /// A parked call that this request goes on with.
    Park(CallLink),
    /// The client's answers, with which the call is made again.
    Retry(Retry),
    /// A task that the call became.
    Task(Box<TaskWait>),
    /// Nowhere any more.
    Gone,
}

/// What happens next in an exchange.
#[derive(Debug)]
pub(crate) enum CallStep {
    /// Something about the request.
    Event(Rope),
    /// Its answer; nothing follows.
    Final(FinalResponse),
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct FinalResponse {
    pub(crate) text: Rope,
    /// The code, when it is an error.
    pub(crate) error: Option<ErrorCode>,
}

/// What became of a request at the host.
pub(crate) enum CallStart {
    Running(Box<ClientCall>),
    Known(FinalResponse),
}

impl FinalResponse {
    pub(crate) fn error(id: Option<&RequestId>, error: &ErrorObject) -> Self {
        Self { text: toolbay_protocol::error(id, error).into(), error: Some(error.code) }
    }

    pub(crate) fn result(id: &RequestId, result: &str) -> Self {
        Self { text: toolbay_protocol::result(id, result).into(), error: None }
    }
}

impl ClientCall {
    /// Hands a request to the host.
    pub(crate) fn start(
        gateway: &Arc<Gateway>,
        client: &RequestClient,
        request: Arc<Request>,
        running: Option<RunningRequest>,
    ) -> CallStart {
        // Where it stays: it is large, so it is put together there.
        let mut exchange = Box::new(Self {
            gateway: gateway.clone(),
            client: client.clone(),
            running,
            request: request.clone(),
            source: CallStage::Gone,
            due: VecDeque::new(),
            asking: OpenServerRequests::default(),
            gathered: Vec::new(),
            gathering: None,
            input_rounds: 0,
        });
        let sent = match exchange.resumed() {
            Resumed::Anew => exchange.send(request, None),
            Resumed::At(resumes) => exchange.send(request, Some(resumes)),
            Resumed::Parked(attachment) => Ok(CallStage::Park(attachment)),
            Resumed::Refused(error) => Err(exchange.failed(&error)),
        };
        match sent {
            Ok(source) => {
                exchange.source = source;
                CallStart::Running(exchange)
            }
            Err(known) => CallStart::Known(known),
        }
    }

    /// Sends a request to its server.
    fn send(&self, request: Arc<Request>, resumes: Option<Resume>) -> Result<CallStage, FinalResponse> {
        let caller = self.client.caller(self.method());
        let (sender, events) = self.events(&caller);
        match self.gateway.host.dispatch(HostRequest { request, caller, events: sender, resumes }) {
            Routed::Sent(call) => Ok(CallStage::Call(LiveCall::new(call, events))),
            Routed::Answered(result) => {
                Err(FinalResponse::result(self.id(), &complete(&result, self.client.revision)))
            }
            Routed::Refused(error) => Err(self.failed(&error)),
        }
    }

    /// Where what is said before the answer goes, if the client wants any of it.
    fn events(&self, caller: &Caller) -> (Option<CallEventSender>, Option<CallEvents>) {
        if self.token().is_none() && !self.client.wants_logs() && !caller.may_be_asked {
            return (None, None);
        }
        let (sender, events) = events();
        (Some(sender), Some(events))
    }

    /// What happens next. Cancel safe; not to be called again after the final step.
    pub(crate) async fn next(&mut self) -> CallStep {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<CallStep> {
        loop {
            if let Some(text) = self.due.pop_front() {
                return Poll::Ready(CallStep::Event(text));
            }
            if let Some(running) = &mut self.running
                && Pin::new(&mut running.cancelled).poll(context).is_ready()
            {
                return Poll::Ready(CallStep::Final(self.failed(&error::cancelled())));
            }
            if self.poll_asking(context) {
                continue;
            }
            let happened = match &mut self.source {
                CallStage::Call(live) => live.poll_next(context).map(|happening| match happening {
                    LiveEvent::Event(event) => self.event(event),
                    LiveEvent::Ended(outcome) => self.ended(outcome),
                }),
                CallStage::Park(attachment) => attachment.poll_next(context).map(|next| match next {
                    LinkEvent::Event(event) => self.event(event),
                    LinkEvent::Ended(ended) => Some(CallStep::Final(self.resumed_and_ended(*ended))),
                }),
                CallStage::Retry(retry) => match retry.poll_ready(context, &self.asking) {
                    Poll::Ready(()) => Poll::Ready(self.retry()),
                    Poll::Pending => Poll::Pending,
                },
                CallStage::Task(waiting) => match waiting.poll_turn(context, &self.asking) {
                    Poll::Ready(turn) => Poll::Ready(self.take_turn(turn)),
                    Poll::Pending => Poll::Pending,
                },
                CallStage::Gone => Poll::Pending,
            };
            match happened {
                Poll::Ready(Some(step)) => return Poll::Ready(step),
                Poll::Ready(None) => {}
                Poll::Pending => {
                    let gathered = self.gathering.as_mut().map(|timer| timer.as_mut().poll(context));
                    if gathered.is_some_and(|poll| poll.is_ready()) {
                        match self.park() {
                            Some(known) => return Poll::Ready(CallStep::Final(known)),
                            None => continue,
                        }
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn event(&mut self, event: CallEvent) -> Option<CallStep> {
        match (event, self.token()) {
            (CallEvent::Progress(notification), Some(token)) => {
                let sealed = self.with_sealed_task(&notification);
                Some(CallStep::Event(progress(sealed.as_ref().unwrap_or(&notification), token)))
            }
            (CallEvent::Progress(_), None) => None,
            (CallEvent::Log(notification) | CallEvent::Custom(notification), _) => {
                let sealed = self.with_sealed_task(&notification);
                Some(CallStep::Event(sealed.as_ref().unwrap_or(&notification).text.clone().into()))
            }
            (CallEvent::Told(_), _) => None, // no call is a subscription
            (CallEvent::Question(question), _) => {
                self.question(*question);
                None
            }
        }
    }

    /// The end of a call; nothing when the client must answer questions first.
    fn ended(&mut self, outcome: Result<CallResponse, CallError>) -> Option<CallStep> {
        match outcome {
            Ok(answered) if is_input_required(&answered) => {
                self.input_required(&answered).map(CallStep::Final)
            }
            Ok(answered) => match self.task_to_await(&answered) {
                Some(task) => self.await_task(task, &answered.response),
                None => Some(CallStep::Final(self.answered(&answered))),
            },
            Err(error) => Some(CallStep::Final(self.failed(&error::call_failed(&error)))),
        }
    }

    fn resumed_and_ended(&self, ended: LinkEnd) -> FinalResponse {
        match ended {
            LinkEnd::Answered(answered) => self.answered(&answered),
            LinkEnd::Failed(error) => self.failed(&error::call_failed(&error)),
            LinkEnd::Asked(result) => FinalResponse::result(self.id(), &result),
            LinkEnd::Refused(error) => self.failed(&error),
        }
    }

    fn answered(&self, answered: &CallResponse) -> FinalResponse {
        let CallResponse { response, revision } = answered;
        if self.client.revision.is_modern()
            && let Some(wanted) = url_elicitations(response)
            && let Some(lacking) = self.cannot_answer(&wanted)
        {
            return self.failed(&error::missing_capability(&lacking));
        }
        let sealed = self.with_sealed_ids(answered);
        let response = sealed.as_ref().unwrap_or(response);
        FinalResponse {
            text: translate_response(response, self.id(), self.method(), *revision, self.client.revision),
            error: response.error().map(|error| error.code),
        }
    }

    /// The first of these questions that the client cannot be asked.
    fn cannot_answer(&self, wanted: &InputRequired) -> Option<String> {
        let lacks = |asked: &&InputRequest| !self.client.can_answer(&asked.method, asked.params.as_deref());
        wanted.requests.iter().find(lacks).map(|asked| asked.method.clone())
    }

    /// An error of our own, which is written for the newest revision, as the client understands it.
    fn failed(&self, error: &ErrorObject) -> FinalResponse {
        let mut known = FinalResponse::error(Some(self.id()), error);
        let to = self.client.revision;
        if !to.is_modern()
            && let Ok(Message::Response(response)) = Message::parse(known.text.clone().into_bytes())
        {
            known.text = translate_response(&response, self.id(), self.method(), Revision::LATEST, to);
        }
        known
    }

    fn id(&self) -> &RequestId {
        &self.request.id
    }

    fn method(&self) -> &str {
        self.request.call.method()
    }

    /// The client's progress token, as JSON text.
    fn token(&self) -> Option<&str> {
        let call = &self.request.call;
        call.meta(meta::PROGRESS_TOKEN).map(|span| call.raw(span))
    }
}

/// Whether a server wants answers of the client before it gives its own.
fn is_input_required(answered: &CallResponse) -> bool {
    let CallResponse { response, revision } = answered;
    revision.is_modern()
        && response.result_field("resultType").is_some_and(|span| response.raw(span) == "\"input_required\"")
}

/// Whether servers may answer such a request with questions.
pub(crate) fn may_ask(asked: &str) -> bool {
    matches!(asked, method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET | method::TASKS_RESULT)
}

/// A result of our own (a JSON object) as a client of that revision expects it.
pub(crate) fn complete(result: &str, revision: Revision) -> String {
    if !revision.is_modern() {
        return result.to_owned();
    }
    let rest = result.strip_prefix('{').unwrap_or(result);
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    format!("{{\"resultType\":\"complete\"{comma}{rest}")
}
