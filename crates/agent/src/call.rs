//! One request of this program, from sending to the result.
//!
//! Everything before the result is handled here: progress, log messages, server requests in the middle of a call (legacy
//! servers), required input instead of a result (modern servers, to which the call is sent again with the input), and calls
//! that a server runs only as a task. Dropping the future cancels all of it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::task::TaskTracker;
use toolbay_host::{Caller, HostRequest, Resume, Routed};
use toolbay_protocol::{LogLevel, Message, Notification, Request, Revision, ServerName, meta, method};
use toolbay_upstream::{
    CallEvent, CallEventSender, CallEvents, CallResponse, CallUpdate, CallerId, ClientIdentity, LogFilter,
    RunningCall, events,
};

use crate::{CallOptions, Error, Handlers, ServerNotification};

/// A server that requires input more often than this requires it forever.
const MAX_ROUNDS: u32 = 32;

/// The pause before a call is sent again to a server that requires no input, only a retry.
const LATER: Duration = Duration::from_millis(200);

/// Where requests go: many servers, or one.
pub(crate) trait CallTarget: Send + Sync {
    /// Sends a request.
    fn send(&self, request: HostRequest) -> Routed;
    /// For work that outlives its caller.
    fn tasks(&self) -> &TaskTracker;
}

/// Where the notifications in the middle of calls go.
pub(crate) type CallObservers = broadcast::Sender<(ServerName, ServerNotification)>;

/// The sender of requests: who it is to servers, its handlers and options.
#[derive(Debug, Clone)]
pub(crate) struct CallSender {
    id: CallerId,
    info: String,
    pub(crate) handlers: Handlers,
    /// Declared besides those of the handlers.
    capabilities: Value,
    pub(crate) options: CallOptions,
    /// Who follows the notifications in the middle of calls.
    observers: Option<CallObservers>,
    /// Made when it is first used, and valid until one of the fields above changes.
    identity: Arc<OnceLock<Arc<ClientIdentity>>>,
}

impl CallSender {
    /// A client of its own.
    pub(crate) fn new() -> Self {
        let us = client_info("toolbay-agent", env!("CARGO_PKG_VERSION"));
        Self {
            id: CallerId::new(),
            info: us,
            handlers: Handlers::default(),
            capabilities: Value::Null,
            options: CallOptions::default(),
            observers: None,
            identity: Arc::default(),
        }
    }

    /// The same client under another name.
    pub(crate) fn named(self, name: &str, version: &str) -> Self {
        Self { info: client_info(name, version), identity: Arc::default(), ..self }
    }

    pub(crate) fn with_handlers(self, handlers: Handlers) -> Self {
        Self { handlers, identity: Arc::default(), ..self }
    }

    /// The same client, which declares further capabilities.
    pub(crate) fn declaring(self, capabilities: Value) -> Self {
        Self { capabilities, identity: Arc::default(), ..self }
    }

    /// The same client, whose notifications in the middle of calls are observed.
    pub(crate) fn observed_by(self, observers: CallObservers) -> Self {
        Self { observers: Some(observers), ..self }
    }

    pub(crate) fn with_options(self, options: CallOptions) -> Self {
        Self { options, identity: Arc::default(), ..self }
    }

    /// Runs a future within the timeout of the caller.
    pub(crate) async fn within<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        match self.options.timeout {
            None => work.await,
            Some(after) => tokio::time::timeout(after, work)
                .await
                .unwrap_or_else(|_| Err(Error::CallerTimeout { what: what.to_owned(), after })),
        }
    }

    /// Who this client is to servers: `clientInfo` and `clientCapabilities`.
    pub(crate) fn identity(&self) -> Arc<ClientIdentity> {
        let identity = self.identity.get_or_init(|| {
            let mut capabilities = self.handlers.capabilities();
            if let (Some(all), Value::Object(more)) = (capabilities.as_object_mut(), &self.capabilities) {
                all.extend(more.clone());
            }
            let capabilities = capabilities.to_string();
            let identity = ClientIdentity::new(Revision::LATEST_LEGACY, self.info.clone(), capabilities);
            Arc::new(identity.at_level(self.least_level()))
        });
        identity.clone()
    }

    /// As [`CallSender::identity`], for handshakes of an agent. Without handlers all capabilities are declared: a view of the
    /// agent may have handlers of its own.
    pub(crate) fn handshake_identity(&self) -> Arc<ClientIdentity> {
        if !self.handlers.is_empty() || !self.capabilities.is_null() {
            return self.identity();
        }
        let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;
        Arc::new(ClientIdentity::new(Revision::LATEST_LEGACY, self.info.clone(), all))
    }

    fn least_level(&self) -> Option<LogLevel> {
        self.options.on_log.as_ref().map(|(least, _)| *least)
    }

    /// Who follows the notifications in the middle of calls, if anyone does now.
    fn observers(&self) -> Option<&CallObservers> {
        self.observers.as_ref().filter(|observers| observers.receiver_count() > 0)
    }

    fn caller(&self) -> Caller {
        let unfiltered = if self.observers().is_some() { LogFilter::Everything } else { LogFilter::Nothing };
        Caller {
            revision: Revision::LATEST_LEGACY,
            identity: self.identity(),
            id: self.id,
            accepts_server_requests: !self.handlers.is_empty(),
            logs: self.least_level().map_or(unfiltered, LogFilter::AtLeast),
            root: None,
            awaits_tasks: false,
        }
    }

    fn hears_events(&self) -> bool {
        self.options.on_progress.is_some()
            || self.options.on_log.is_some()
            || !self.handlers.is_empty()
            || self.observers().is_some()
    }
}

fn client_info(name: &str, version: &str) -> String {
    serde_json::json!({ "name": name, "version": version }).to_string()
}

/// One request.
pub(crate) struct CallEngine<'a> {
    pub(crate) target: &'a dyn CallTarget,
    pub(crate) sender: &'a CallSender,
    /// The server that has what the request names.
    pub(crate) server: ServerName,
}

impl CallEngine<'_> {
    /// Sends a request and returns its result as JSON text, after all input that the server requires.
    pub(crate) async fn run(&self, method: &str, mut params: Map<String, Value>) -> Result<String, Error> {
        for round in 1..=MAX_ROUNDS {
            let response = match self.send(method, &params, None)? {
                SendOutcome::Known(result) => return Ok(result),
                SendOutcome::Call(call) => self.follow(call).await?,
            };
            let result = self.result(&response)?;
            if let Some(required_input) = required_input(&response) {
                self.give_input(&required_input, &mut params, round).await?;
            } else if method == method::TOOLS_CALL
                && let Some(task) = task_of(&response)
            {
                return self.await_task(task).await;
            } else {
                return Ok(result.to_owned());
            }
        }
        Err(Error::protocol(&self.server, format!("it requested input {MAX_ROUNDS} times without a result")))
    }

    /// Sends a request; with `resumes`, about something that its server began.
    fn send(
        &self,
        method: &str,
        params: &Map<String, Value>,
        resumes: Option<Resume>,
    ) -> Result<SendOutcome, Error> {
        let request = self.build_request(method, params).ok_or_else(|| {
            Error::protocol(&self.server, format!("the parameters of `{method}` do not fit into a message"))
        })?;
        let (sender, events): (Option<CallEventSender>, Option<CallEvents>) = match self.sender.hears_events()
        {
            true => Some(events()).unzip(),
            false => (None, None),
        };
        let host_request = HostRequest { request, caller: self.sender.caller(), events: sender, resumes };
        match self.target.send(host_request) {
            Routed::Sent(call) => Ok(SendOutcome::Call(RunningCall::new(call, events))),
            Routed::Answered(result) => Ok(SendOutcome::Known(result)),
            Routed::Refused(error) => Err(error.into()),
            // Only views have rules, and agents have none.
            Routed::Denied(_) | Routed::Ask(_) => {
                Err(Error::protocol(&self.server, "the call is not allowed".to_owned()))
            }
        }
    }

    /// A request, with a progress token if the caller follows progress. The connection replaces the token.
    fn build_request(&self, method: &str, params: &Map<String, Value>) -> Option<Arc<Request>> {
        if self.sender.options.on_progress.is_none() {
            return request(method, params);
        }
        let mut params = params.clone();
        let fields = params.entry("_meta").or_insert_with(|| Map::new().into());
        if let Some(fields) = fields.as_object_mut() {
            fields.entry(meta::PROGRESS_TOKEN).or_insert_with(|| 1.into());
        }
        request(method, &params)
    }

    /// Waits for the response, and handles what the server sends before it.
    async fn follow(&self, mut call: RunningCall) -> Result<CallResponse, Error> {
        let mut server_requests = FuturesUnordered::new();
        loop {
            let update = tokio::select! {
                biased;
                Some(()) = server_requests.next() => continue,
                update = call.next() => update,
            };
            match update {
                CallUpdate::Event(CallEvent::Progress(step)) => {
                    self.sender.options.progressed(&step);
                    self.observed(step, ServerNotification::Progress);
                }
                CallUpdate::Event(CallEvent::Log(message)) => {
                    self.sender.options.logged(&message);
                    self.observed(message, ServerNotification::Log);
                }
                CallUpdate::Event(CallEvent::ServerRequest(request)) => {
                    server_requests.push(self.sender.handlers.respond(&self.server, request));
                }
                CallUpdate::Event(CallEvent::Subscription(_)) => {} // nothing here is a subscription
                CallUpdate::Event(CallEvent::Custom(_)) => {}       // `Client::notifications` has it
                CallUpdate::Ended(outcome) => return Ok(outcome?),
            }
        }
    }

    fn observed(&self, notification: Box<Notification>, kind: fn(Arc<Notification>) -> ServerNotification) {
        if let Some(observers) = self.sender.observers() {
            let _ = observers.send((self.server.clone(), kind(notification.into())));
        }
    }

    /// The result of a response as JSON text, unless it is an error.
    fn result<'b>(&self, response: &'b CallResponse) -> Result<&'b str, Error> {
        match (response.response.result_text(), response.response.error()) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(Error::from_response(&self.server, error)),
            (None, None) => Err(Error::protocol(&self.server, "its response has neither result nor error")),
        }
    }
}

/// The input that a response requires, if it is no result.
fn required_input(response: &CallResponse) -> Option<Value> {
    let kind = response.response.result_field("resultType").map(|span| response.response.raw(span));
    if !response.revision.features().has_input_required() || kind != Some("\"input_required\"") {
        return None;
    }
    serde_json::from_str(response.response.result_text()?).ok()
}

impl CallEngine<'_> {
    /// Has the handlers provide the input, and puts it into the parameters of the next round.
    async fn give_input(
        &self,
        required_input: &Value,
        params: &mut Map<String, Value>,
        round: u32,
    ) -> Result<(), Error> {
        let mut inputs = Map::new();
        for (key, request) in required_input["inputRequests"].as_object().into_iter().flatten() {
            let method = request["method"].as_str().unwrap_or_default();
            let reply = self.sender.handlers.reply(&self.server, method, request["params"].clone()).await;
            let response = match reply {
                Ok(response) => response,
                // Without a user nothing was decided, which servers understand.
                Err(_) if method == method::ELICIT => serde_json::json!({ "action": "cancel" }),
                Err(error) => return Err(error.into()),
            };
            inputs.insert(key.clone(), response);
        }
        if inputs.is_empty() {
            tokio::time::sleep(LATER * round).await;
        }
        params.remove("inputResponses");
        params.remove("requestState");
        if !inputs.is_empty() {
            params.insert("inputResponses".to_owned(), inputs.into());
        }
        if let Some(state) = required_input.get("requestState") {
            params.insert("requestState".to_owned(), state.clone());
        }
        Ok(())
    }
}

/// The id of the task that a call became, if it became one.
fn task_of(response: &CallResponse) -> Option<Value> {
    if !response.revision.features().has_experimental_tasks() {
        return None;
    }
    let task = response.response.result_field("task").map(|span| response.response.raw(span))?;
    let task: Value = serde_json::from_str(task).ok()?;
    task.get("taskId").filter(|id| id.is_string()).cloned()
}

impl CallEngine<'_> {
    /// Waits for the end of a task. Dropping the future cancels it.
    async fn await_task(&self, id: Value) -> Result<String, Error> {
        let mut task = Task { engine: self, id, has_ended: false };
        let response = match task.send(method::TASKS_RESULT)? {
            SendOutcome::Known(result) => return Ok(result),
            SendOutcome::Call(call) => self.follow(call).await?,
        };
        task.has_ended = true;
        Ok(self.result(&response)?.to_owned())
    }
}

/// A task whose end is awaited; dropping it cancels the task.
struct Task<'a, 'b> {
    engine: &'a CallEngine<'b>,
    id: Value,
    has_ended: bool,
}

impl Task<'_, '_> {
    fn send(&self, method: &str) -> Result<SendOutcome, Error> {
        let params = Map::from_iter([("taskId".to_owned(), self.id.clone())]);
        let resumes = Resume { server: self.engine.server.clone(), state: None };
        self.engine.send(method, &params, Some(resumes))
    }
}

impl Drop for Task<'_, '_> {
    fn drop(&mut self) {
        // At the end of the process there may be no runtime, and then there is no server either.
        let (false, Ok(runtime)) = (self.has_ended, tokio::runtime::Handle::try_current()) else { return };
        if let Ok(SendOutcome::Call(call)) = self.send(method::TASKS_CANCEL) {
            // The response is not used, but a call that is dropped is not sent.
            self.engine.target.tasks().spawn_on(async move { drop(call.outcome().await) }, &runtime);
        }
    }
}

/// The outcome of sending a request.
enum SendOutcome {
    Call(RunningCall),
    /// The result is known without a server.
    Known(String),
}

/// A request. Its id does not matter: each connection makes its own.
pub(crate) fn request(method: &str, params: &Map<String, Value>) -> Option<Arc<Request>> {
    let params = serde_json::to_string(params).ok()?;
    match Message::parse(toolbay_protocol::request(&1.into(), method, Some(&params))) {
        Ok(Message::Request(request)) => Some(request.into()),
        _ => None,
    }
}
