//! A request of a client to a server, and its response.
//!
//! [`CallRun::run`] is the whole path, from top to bottom: it follows the call, has the client provide what the server
//! requires before its response, and waits for the task that the call may become. What the client is sent before the
//! response goes through [`event_slot`] to the listener, which decides how to send it.

mod ask;
mod event_slot;
mod input_required;
mod login;
mod output;
mod resume;
mod server_requests;
mod task;

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use toolbay_access::Tier;
use toolbay_audit::CallOutcome;
use toolbay_host::{
    CallEvent, CallResponse, CallUpdate, ConsentRequest, HostRequest, OutputRules, Resume, Routed,
    RunningCall, ServerRequest, events,
};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, ObjectBuilder, Request, RequestId, Revision, Rope, ServerName, meta,
    method,
};
use toolbay_translate::{InputRequest, InputRequired, progress, translate_response, url_elicitations};

pub(crate) use self::{event_slot::put as pass_on, server_requests::answer};
use self::{resume::Resumed, server_requests::OpenServerRequests};
use crate::{
    audit::AuditedCall, error, gateway::Gateway, request::client::RequestClient,
    security::principal_usage::UsageGuard, session::RunningRequest, suspended::answerable,
};

/// A running request. Dropping it cancels the call.
pub(crate) struct ClientCall {
    response: Pin<Box<dyn Future<Output = FinalResponse> + Send>>,
    /// It counts for its principal as long as it runs.
    _usage: Option<UsageGuard>,
}

/// What the client is sent next.
#[derive(Debug)]
pub(crate) enum CallStep {
    /// A message that belongs to the request.
    Event(Rope),
    /// The response; nothing follows.
    Final(FinalResponse),
}

/// The response to a request.
#[derive(Debug)]
pub(crate) struct FinalResponse {
    pub(crate) text: Rope,
    /// The code, when it is an error.
    pub(crate) error: Option<ErrorCode>,
    /// How the request ended, as it is recorded.
    pub(crate) outcome: CallOutcome,
}

/// A value, or the response that ends the request before its time.
type OrResponse<T> = Result<T, FinalResponse>;

impl FinalResponse {
    pub(crate) fn error(id: Option<&RequestId>, error: &ErrorObject) -> Self {
        let text = toolbay_protocol::error(id, error).into();
        Self { text, error: Some(error.code), outcome: CallOutcome::ProtocolError }
    }

    pub(crate) fn result(id: &RequestId, result: &str) -> Self {
        Self { text: toolbay_protocol::result(id, result).into(), error: None, outcome: CallOutcome::Success }
    }

    /// The same response, recorded as something else.
    pub(crate) fn with_outcome(self, outcome: CallOutcome) -> Self {
        Self { outcome, ..self }
    }
}

impl ClientCall {
    /// Sends a request to its server, or returns the response where no server is needed for it.
    pub(crate) fn start(
        gateway: &Arc<Gateway>,
        client: &RequestClient,
        request: Arc<Request>,
        running: Option<RunningRequest>,
    ) -> OrResponse<Self> {
        let mut run = CallRun {
            gateway: gateway.clone(),
            client: client.clone(),
            request: request.clone(),
            server: None,
            wants_events: false,
            open: None,
            has_awaited_login: false,
            is_allowed: false,
            asked: None,
            output: None,
        };
        let call = match run.resumed() {
            Resumed::New => run.send(request.clone(), None),
            Resumed::Approval { is_allowed: false } => return Err(run.declined("a rule")),
            Resumed::Approval { is_allowed: true } => {
                run.is_allowed = true;
                run.send(run.plain_request(), None)
            }
            Resumed::AtServer(resume) => {
                // It was allowed when it began.
                run.is_allowed = true;
                Ok(run.send(request.clone(), Some(resume))?)
            }
            Resumed::Suspended(link) => {
                return Ok(Self { response: Box::pin(run.resume(link)), _usage: None });
            }
            Resumed::Refused(error) => return Err(run.failed(&error)),
        };
        let refused = match call {
            Ok(call) => return Ok(Self { response: Box::pin(run.run(call, running)), _usage: None }),
            Err(refused) => refused,
        };
        if let Some(asked) = run.asked.take() {
            return Ok(Self { response: Box::pin(run.ask_and_run(*asked, running)), _usage: None });
        }
        let Some(server) = client.host.required_login(&request) else { return Err(refused) };
        let response = async move {
            match run.login_required(&server).await {
                Ok(call) => run.run(call, running).await,
                Err(response) => response,
            }
        };
        Ok(Self { response: Box::pin(response), _usage: None })
    }

    /// A request that is answered by the hub, and may send the client messages before: see [`pass_on`].
    pub(crate) fn of(response: impl Future<Output = FinalResponse> + Send + 'static) -> Self {
        Self { response: Box::pin(response), _usage: None }
    }

    /// The same call, which counts for its principal.
    pub(crate) fn counted(self, usage: UsageGuard) -> Self {
        Self { _usage: Some(usage), ..self }
    }

    /// The same call, whose end is recorded before the client gets the response.
    pub(crate) fn audited(self, audited: AuditedCall) -> Self {
        let Self { response, _usage } = self;
        let response = async move { audited.finish(response.await).await };
        Self { response: Box::pin(response), _usage }
    }

    /// Returns what the client is sent next; must not be called after the response. Cancel safe.
    pub(crate) async fn next(&mut self) -> CallStep {
        poll_fn(|context| match self.response.as_mut().poll(context) {
            Poll::Ready(response) => Poll::Ready(CallStep::Final(response)),
            Poll::Pending => {
                event_slot::take().map_or(Poll::Pending, |event| Poll::Ready(CallStep::Event(event)))
            }
        })
        .await
    }
}

/// What a running request needs to know.
struct CallRun {
    gateway: Arc<Gateway>,
    client: RequestClient,
    /// What the client sent.
    request: Arc<Request>,
    /// The server that was called, while the ids of tasks in its messages are its own.
    server: Option<ServerName>,
    /// Whether the client wants messages before the response.
    wants_events: bool,
    /// Server requests that the client has not responded to. Most calls have none.
    open: Option<OpenServerRequests>,
    /// Whether it has waited for a login of the user.
    has_awaited_login: bool,
    /// Whether it was allowed before, so that no rule asks for it or counts it again.
    is_allowed: bool,
    /// What a person has to decide before it is sent.
    asked: Option<Box<ConsentRequest>>,
    /// What is done with the result of the tool, if anything.
    output: Option<Arc<OutputRules>>,
}

/// What a server returns to a call.
enum Followed {
    /// Its response.
    Response(CallResponse),
    /// Server requests for a client without a session, and those that it does not support: the call is suspended until the
    /// client returns with responses.
    ServerRequests { requests: Vec<ServerRequest>, refused: Vec<ServerRequest> },
    /// It never got the call, because the user has to log in first.
    LoginRequired(ServerName),
}

impl CallRun {
    /// Returns the response to the client, unless it cancels the request first.
    ///
    /// Every call allocates this future, and allocators are slower beyond a kilobyte.
    #[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
    fn run(
        mut self,
        call: RunningCall,
        mut running: Option<RunningRequest>,
    ) -> impl Future<Output = FinalResponse> + Send {
        async move {
            let cancelled = async {
                match &mut running {
                    Some(running) => drop((&mut running.cancelled).await),
                    None => std::future::pending().await,
                }
            };
            let response = tokio::select! {
                biased;
                () = cancelled => None,
                response = self.respond(call) => Some(response.unwrap_or_else(|response| response)),
            };
            response.unwrap_or_else(|| self.failed(&error::cancelled()).with_outcome(CallOutcome::Cancelled))
        }
    }

    /// Returns the response of the server, once the client has provided what the server requires.
    #[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
    fn respond(&mut self, mut call: RunningCall) -> impl Future<Output = OrResponse<FinalResponse>> + Send {
        async move {
            let mut exchange = 0;
            let response = loop {
                let response = match self.follow(&mut call).await? {
                    Followed::Response(response) => response,
                    Followed::ServerRequests { requests, refused } => {
                        return Err(self.suspend(call, None, requests, refused));
                    }
                    Followed::LoginRequired(server) => {
                        call = Box::pin(self.login_required(&server)).await?;
                        continue;
                    }
                };
                if !is_input_required(&response) {
                    break response;
                }
                if self.client.revision.features().has_input_required() {
                    return Ok(self.sealed_input_required(&response));
                }
                exchange += 1;
                // Rare and large, as what follows.
                call = Box::pin(self.provide_input(&response, exchange)).await?;
            };
            match self.task_to_await(&response) {
                Some(task) => Box::pin(self.await_task(task, &response.response)).await,
                None => self.finished(response).await,
            }
        }
    }

    /// Returns the result of a call as the client gets it.
    #[expect(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
    fn finished(&self, response: CallResponse) -> impl Future<Output = OrResponse<FinalResponse>> + Send {
        async move {
            let response = match &self.output {
                None => response,
                // Large, and rare as long as nothing is limited.
                Some(_) => Box::pin(self.with_output_rules(response)).await?,
            };
            Ok(self.translated(&response))
        }
    }

    /// Sends a request to its server.
    fn send(&mut self, request: Arc<Request>, resumes: Option<Resume>) -> OrResponse<RunningCall> {
        let caller = self.client.caller(self.method());
        self.wants_events =
            self.token().is_some() || self.client.wants_logs() || caller.accepts_server_requests;
        let (sender, events) = self.wants_events.then(events).unzip();
        let host_request = HostRequest { request, caller, events: sender, resumes };
        let (client, gateway) = (&self.client, &self.gateway);
        let view = || client.schema_view(gateway);
        match client.host.dispatch_for(host_request, self.is_allowed, &view, &mut self.output) {
            Routed::Sent(call) => {
                self.is_allowed = true;
                self.server = Some(call.server().clone());
                Ok(RunningCall::new(call, events))
            }
            Routed::Answered(result) => {
                let result = FinalResponse::result(self.id(), &complete(&result, self.client.revision));
                Err(result.with_outcome(CallOutcome::ToolError))
            }
            Routed::Refused(error) => Err(match self.beyond_tier() {
                Some(error) => self.failed(&error).with_outcome(CallOutcome::Denied),
                None => self.failed(&error),
            }),
            Routed::Denied(denial) => Err(self.tool_error(&format!("not allowed: {denial}"))),
            Routed::Ask(asked) => {
                let rule = &asked.rule.name;
                let refused = self.tool_error(&format!(
                    "not allowed: rule `{rule}` of this hub wants a person to allow it"
                ));
                self.asked = Some(Box::new(asked));
                Err(refused)
            }
        }
    }

    /// Why a tool of a server that the client sees is hidden from it: its tier allows less.
    fn beyond_tier(&self) -> Option<ErrorObject> {
        let tier = self.client.access.rights.tier;
        if tier == Tier::Destructive || self.method() != method::TOOLS_CALL {
            return None;
        }
        // What a profile or a rule hides does not exist.
        if self.gateway.views.has_rules_for(&self.client.access) {
            return None;
        }
        let name = self.request.call.string_param("name")?;
        let table = self.gateway.host.table();
        let server = &table.tool(&name)?.server;
        let seen = self.client.host.server(server.name().as_str())?;
        // What the owner gets over another connection is not for this client.
        let is_same = Arc::ptr_eq(&server.status().borrow().catalog, &seen.status().borrow().catalog);
        let is_hidden = self.client.host.table().tool(&name).is_none();
        (is_same && is_hidden).then(|| error::beyond_tier(&name, tier))
    }

    /// Waits for the response of a server and passes on what it sends before.
    async fn follow(&mut self, call: &mut RunningCall) -> OrResponse<Followed> {
        let outcome = loop {
            let update = tokio::select! {
                biased;
                withdrawal = server_requests::withdrawn(&mut self.open) => {
                    event_slot::put(withdrawal).await;
                    continue;
                }
                update = call.next() => update,
            };
            match update {
                CallUpdate::Event(CallEvent::ServerRequest(request)) if self.client.session.is_some() => {
                    if let Some(text) = self.ask_session(request) {
                        event_slot::put(text).await;
                    }
                }
                CallUpdate::Event(CallEvent::ServerRequest(request)) => {
                    let mut requests = vec![*request];
                    if let Some(outcome) = Box::pin(self.gather(call, &mut requests)).await {
                        break outcome;
                    }
                    let (requests, refused) = answerable(requests, self.client.capabilities());
                    if !requests.is_empty() {
                        return Ok(Followed::ServerRequests { requests, refused });
                    }
                    refused.into_iter().for_each(ServerRequest::refuse);
                }
                CallUpdate::Event(event) => self.pass_on(event).await,
                CallUpdate::Ended(outcome) => break outcome,
            }
        };
        match outcome {
            Ok(response) => Ok(Followed::Response(response)),
            Err(error) if error.is_login_required() => Ok(Followed::LoginRequired(error.server().clone())),
            Err(error) => {
                let outcome =
                    if error.is_timeout() { CallOutcome::Timeout } else { CallOutcome::ProtocolError };
                Err(self.failed(&error::call_failed(&error)).with_outcome(outcome))
            }
        }
    }

    /// Passes a notification of the server on to the client.
    async fn pass_on(&self, event: CallEvent) {
        let text = match (event, self.token()) {
            (CallEvent::Progress(notification), Some(token)) => {
                let sealed = self.with_sealed_task(&notification);
                progress(sealed.as_ref().unwrap_or(&notification), token)
            }
            (CallEvent::Log(notification) | CallEvent::Custom(notification), _) => {
                let sealed = self.with_sealed_task(&notification);
                sealed.as_ref().unwrap_or(&notification).text.clone().into()
            }
            // The client gave no progress token; server requests are handled elsewhere; no call is a subscription.
            (CallEvent::Progress(_) | CallEvent::ServerRequest(_) | CallEvent::Subscription(_), _) => return,
        };
        event_slot::put(text).await;
    }

    /// Returns a response of a server as the client expects it.
    fn translated(&self, answered: &CallResponse) -> FinalResponse {
        let CallResponse { response, revision } = answered;
        if self.client.revision.features().has_input_required()
            && let Some(wanted) = url_elicitations(response)
            && let Some(lacking) = self.cannot_answer(&wanted)
        {
            return self.failed(&error::missing_capability(&lacking));
        }
        let sealed = self.with_sealed_ids(answered);
        let response = sealed.as_ref().unwrap_or(response);
        let error = response.error().map(|error| error.code);
        let outcome = match error {
            Some(_) => CallOutcome::ProtocolError,
            // Only the log wants to know.
            None if self.gateway.options.audit.is_some() => outcome_of(answered),
            None => CallOutcome::Success,
        };
        let text = translate_response(response, self.id(), self.method(), *revision, self.client.revision);
        FinalResponse { text, error, outcome }
    }

    /// The first of these requests that the client does not support.
    fn cannot_answer(&self, wanted: &InputRequired) -> Option<String> {
        let lacks =
            |request: &&InputRequest| !self.client.supports(&request.method, request.params.as_deref());
        wanted.requests.iter().find(lacks).map(|request| request.method.clone())
    }

    /// An error of our own, which is written for the newest revision, as the client understands it.
    fn failed(&self, error: &ErrorObject) -> FinalResponse {
        let mut known = FinalResponse::error(Some(self.id()), error);
        let to = self.client.revision;
        if to != Revision::LATEST
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

/// Whether a modern server requires input of the client before it responds.
fn is_input_required(answered: &CallResponse) -> bool {
    let CallResponse { response, revision } = answered;
    revision.features().has_input_required()
        && response.result_field("resultType").is_some_and(|span| response.raw(span) == "\"input_required\"")
}

/// How a call with a result ended.
fn outcome_of(answered: &CallResponse) -> CallOutcome {
    let response = &answered.response;
    let is_error = response.result_field("isError").is_some_and(|span| response.raw(span) == "true");
    match is_error {
        true => CallOutcome::ToolError,
        false if is_input_required(answered) => CallOutcome::InputRequired,
        false => CallOutcome::Success,
    }
}

/// Whether servers may ask for input before they respond to such a request.
pub(crate) fn may_require_input(method_name: &str) -> bool {
    matches!(
        method_name,
        method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET | method::TASKS_RESULT
    )
}

/// A result of our own (a JSON object) as a client of that revision expects it.
pub(crate) fn complete(result: &str, revision: Revision) -> String {
    if !revision.features().wants_result_type() {
        return result.to_owned();
    }
    let object = ObjectBuilder::with_capacity(result.len() + 32);
    object.string("resultType", "complete").fields_of(result).finish()
}
