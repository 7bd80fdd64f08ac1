//! A request on its way to a server and back.

mod asking;
mod input;
mod resume;
mod task;
mod waiting;

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::Sleep;
use toolbay_host::{
    Answer, Asked, CallError, CallEvent, Caller, Dispatched, EventSender, Events, Question, Resumes, events,
};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Request, RequestId, Revision, Rope, meta, method};
use toolbay_translate::{InputRequest, InputRequired, answer, progress, url_elicitations};

use self::{asking::Asking, input::Retry, resume::Resumed, waiting::Waiting};
use crate::{
    client::Client,
    gateway::Gateway,
    live::{Happening, Live},
    park::{Attachment, Ended, Next},
    reply,
    session::Running,
};

/// A running request. Dropping it cancels the call.
pub(crate) struct Exchange {
    gateway: Arc<Gateway>,
    client: Client,
    running: Option<Running>,
    /// What the client sent.
    request: Arc<Request>,
    source: Source,
    /// What the client is told before anything else.
    due: VecDeque<Rope>,
    /// Questions that the client was asked in messages of their own.
    asking: Asking,
    /// Questions that are about to end this request, and when they do.
    gathered: Vec<Question>,
    gathering: Option<Pin<Box<Sleep>>>,
    rounds: u32,
}

/// Where the answer comes from.
enum Source {
    /// A call at a server.
    Call(Live),
    /// A parked call that this request goes on with.
    Park(Attachment),
    /// The client's answers, with which the call is made again.
    Retry(Retry),
    /// A task that the call became.
    Task(Box<Waiting>),
    /// Nowhere any more.
    Gone,
}

/// What happens next in an exchange.
#[derive(Debug)]
pub(crate) enum Step {
    /// Something about the request.
    Event(Rope),
    /// Its answer; nothing follows.
    Final(Final),
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Final {
    pub(crate) text: Rope,
    /// The code, when it is an error.
    pub(crate) error: Option<ErrorCode>,
}

/// What became of a request at the host.
pub(crate) enum Started {
    Running(Box<Exchange>),
    Known(Final),
}

impl Final {
    pub(crate) fn error(id: Option<&RequestId>, error: &ErrorObject) -> Self {
        Self { text: toolbay_protocol::error(id, error).into(), error: Some(error.code) }
    }

    pub(crate) fn result(id: &RequestId, result: &str) -> Self {
        Self { text: toolbay_protocol::result(id, result).into(), error: None }
    }
}

impl Exchange {
    /// Hands a request to the host.
    pub(crate) fn start(
        gateway: &Arc<Gateway>,
        client: &Client,
        request: Arc<Request>,
        running: Option<Running>,
    ) -> Started {
        // Where it stays: it is large, so it is put together there.
        let mut exchange = Box::new(Self {
            gateway: gateway.clone(),
            client: client.clone(),
            running,
            request: request.clone(),
            source: Source::Gone,
            due: VecDeque::new(),
            asking: Asking::default(),
            gathered: Vec::new(),
            gathering: None,
            rounds: 0,
        });
        let sent = match exchange.resumed() {
            Resumed::Anew => exchange.send(request, None),
            Resumed::At(resumes) => exchange.send(request, Some(resumes)),
            Resumed::Parked(attachment) => Ok(Source::Park(attachment)),
            Resumed::Refused(error) => Err(exchange.failed(&error)),
        };
        match sent {
            Ok(source) => {
                exchange.source = source;
                Started::Running(exchange)
            }
            Err(known) => Started::Known(known),
        }
    }

    /// Sends a request to its server.
    fn send(&self, request: Arc<Request>, resumes: Option<Resumes>) -> Result<Source, Final> {
        let caller = self.client.caller(self.method());
        let (sender, events) = self.events(&caller);
        match self.gateway.host.dispatch(Asked { request, caller, events: sender, resumes }) {
            Dispatched::Sent(call) => Ok(Source::Call(Live::new(call, events))),
            Dispatched::Answered(result) => {
                Err(Final::result(self.id(), &complete(&result, self.client.revision)))
            }
            Dispatched::Refused(error) => Err(self.failed(&error)),
        }
    }

    /// Where what is said before the answer goes, if the client wants any of it.
    fn events(&self, caller: &Caller) -> (Option<EventSender>, Option<Events>) {
        if self.token().is_none() && !self.client.wants_logs() && !caller.may_be_asked {
            return (None, None);
        }
        let (sender, events) = events();
        (Some(sender), Some(events))
    }

    /// What happens next. Cancel safe; not to be called again after the final step.
    pub(crate) async fn next(&mut self) -> Step {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        loop {
            if let Some(text) = self.due.pop_front() {
                return Poll::Ready(Step::Event(text));
            }
            if let Some(running) = &mut self.running
                && Pin::new(&mut running.cancelled).poll(context).is_ready()
            {
                return Poll::Ready(Step::Final(self.failed(&reply::cancelled())));
            }
            if self.poll_asking(context) {
                continue;
            }
            let happened = match &mut self.source {
                Source::Call(live) => live.poll_next(context).map(|happening| match happening {
                    Happening::Event(event) => self.event(event),
                    Happening::Ended(outcome) => self.ended(outcome),
                }),
                Source::Park(attachment) => attachment.poll_next(context).map(|next| match next {
                    Next::Event(event) => self.event(event),
                    Next::Ended(ended) => Some(Step::Final(self.resumed_and_ended(*ended))),
                }),
                Source::Retry(retry) => match retry.poll_ready(context, &self.asking) {
                    Poll::Ready(()) => Poll::Ready(self.retry()),
                    Poll::Pending => Poll::Pending,
                },
                Source::Task(waiting) => match waiting.poll_turn(context, &self.asking) {
                    Poll::Ready(turn) => Poll::Ready(self.take_turn(turn)),
                    Poll::Pending => Poll::Pending,
                },
                Source::Gone => Poll::Pending,
            };
            match happened {
                Poll::Ready(Some(step)) => return Poll::Ready(step),
                Poll::Ready(None) => {}
                Poll::Pending => {
                    let gathered = self.gathering.as_mut().map(|timer| timer.as_mut().poll(context));
                    if gathered.is_some_and(|poll| poll.is_ready()) {
                        match self.park() {
                            Some(known) => return Poll::Ready(Step::Final(known)),
                            None => continue,
                        }
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn event(&mut self, event: CallEvent) -> Option<Step> {
        match (event, self.token()) {
            (CallEvent::Progress(notification), Some(token)) => {
                let sealed = self.with_sealed_task(&notification);
                Some(Step::Event(progress(sealed.as_ref().unwrap_or(&notification), token)))
            }
            (CallEvent::Progress(_), None) => None,
            (CallEvent::Log(notification) | CallEvent::Custom(notification), _) => {
                let sealed = self.with_sealed_task(&notification);
                Some(Step::Event(sealed.as_ref().unwrap_or(&notification).text.clone().into()))
            }
            (CallEvent::Told(_), _) => None, // no call is a subscription
            (CallEvent::Question(question), _) => {
                self.question(*question);
                None
            }
        }
    }

    /// The end of a call; nothing when the client must answer questions first.
    fn ended(&mut self, outcome: Result<Answer, CallError>) -> Option<Step> {
        match outcome {
            Ok(answered) if is_input_required(&answered) => self.input_required(&answered).map(Step::Final),
            Ok(answered) => match self.task_to_await(&answered) {
                Some(task) => self.await_task(task, &answered.response),
                None => Some(Step::Final(self.answered(&answered))),
            },
            Err(error) => Some(Step::Final(self.failed(&reply::call_failed(&error)))),
        }
    }

    fn resumed_and_ended(&self, ended: Ended) -> Final {
        match ended {
            Ended::Answered(answered) => self.answered(&answered),
            Ended::Failed(error) => self.failed(&reply::call_failed(&error)),
            Ended::Asked(result) => Final::result(self.id(), &result),
            Ended::Refused(error) => self.failed(&error),
        }
    }

    fn answered(&self, answered: &Answer) -> Final {
        let Answer { response, revision } = answered;
        if self.client.revision.is_modern()
            && let Some(wanted) = url_elicitations(response)
            && let Some(lacking) = self.cannot_answer(&wanted)
        {
            return self.failed(&reply::missing_capability(&lacking));
        }
        let sealed = self.with_sealed_ids(answered);
        let response = sealed.as_ref().unwrap_or(response);
        Final {
            text: answer(response, self.id(), self.method(), *revision, self.client.revision),
            error: response.error().map(|error| error.code),
        }
    }

    /// The first of these questions that the client cannot be asked.
    fn cannot_answer(&self, wanted: &InputRequired) -> Option<String> {
        let lacks = |asked: &&InputRequest| !self.client.can_answer(&asked.method, asked.params.as_deref());
        wanted.requests.iter().find(lacks).map(|asked| asked.method.clone())
    }

    /// An error of our own, which is written for the newest revision, as the client understands it.
    fn failed(&self, error: &ErrorObject) -> Final {
        let mut known = Final::error(Some(self.id()), error);
        let to = self.client.revision;
        if !to.is_modern()
            && let Ok(Message::Response(response)) = Message::parse(known.text.clone().into_bytes())
        {
            known.text = answer(&response, self.id(), self.method(), Revision::LATEST, to);
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
fn is_input_required(answered: &Answer) -> bool {
    let Answer { response, revision } = answered;
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
