//! `run_code`: JavaScript that calls tools, in a process of its own.
//!
//! Every call of the code is a request of the client that sent it, on the client's view, and takes the path of any other request. What
//! the client is not shown does not exist for its code.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc;
use toolbay_code::{CodeError, CodeRunner, Finished, ToolCall, ToolCaller, ToolReply};
use toolbay_protocol::{Message, ObjectBuilder, Request, Rope, meta, method, model::Item};

use super::ToolAnswer;
use crate::{
    error,
    gateway::Gateway,
    request::{
        call::{CallStep, ClientCall, FinalResponse, pass_on},
        client::RequestClient,
        serve::Served,
    },
    session::RunningRequest,
};

pub(super) const DEFINITION: &str = r#"{"name":"run_code","description":"Run JavaScript that calls tools and returns only what you need: await tools.SERVER.TOOL({…}) or await call(\"NAME\",{…}), with Promise.all for many","inputSchema":{"type":"object","properties":{"code":{"type":"string"},"timeout_ms":{"type":"integer"}},"required":["code"]},"annotations":{"readOnlyHint":false,"destructiveHint":true}}"#;

/// How long code may take where the call does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TIMEOUT: Duration = Duration::from_secs(300);
/// How long code may be, in bytes.
const MAX_CODE: usize = 256 << 10;
/// How many messages of calls may wait for the client.
const EVENTS: usize = 16;

#[derive(Debug, Deserialize)]
struct Arguments {
    code: String,
    timeout_ms: Option<u64>,
}

/// Starts code; the response where that cannot be.
pub(crate) fn start(
    gateway: &Arc<Gateway>,
    runner: &Arc<CodeRunner>,
    client: &RequestClient,
    request: &Arc<Request>,
    running: Option<RunningRequest>,
) -> Result<ClientCall, FinalResponse> {
    let refused = |why: String| ToolAnswer::failed(why).response(client, request);
    if client.is_in_code {
        return Err(refused("code cannot run other code: call the tools themselves".to_owned()));
    }
    let raw = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    let arguments: Arguments =
        serde_json::from_str(raw).map_err(|why| refused(format!("the arguments do not fit: {why}")))?;
    if arguments.code.len() > MAX_CODE {
        let length = arguments.code.len();
        return Err(refused(format!("`code` is {length} bytes long; at most {MAX_CODE} are allowed")));
    }
    let timeout = arguments.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis).min(MAX_TIMEOUT);
    let run = CodeRun {
        gateway: gateway.clone(),
        runner: runner.clone(),
        client: client.clone(),
        request: request.clone(),
    };
    Ok(ClientCall::of(run.respond(arguments.code, timeout, running)))
}

/// Code that runs for a client.
struct CodeRun {
    gateway: Arc<Gateway>,
    runner: Arc<CodeRunner>,
    client: RequestClient,
    request: Arc<Request>,
}

impl CodeRun {
    /// Runs the code to its end, unless the client cancels it.
    async fn respond(
        self,
        code: String,
        timeout: Duration,
        mut running: Option<RunningRequest>,
    ) -> FinalResponse {
        let cancelled = async {
            match &mut running {
                Some(running) => drop((&mut running.cancelled).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancelled => FinalResponse::error(Some(&self.request.id), &error::cancelled()),
            answer = self.run(&code, timeout) => answer.response(&self.client, &self.request),
        }
    }

    async fn run(&self, code: &str, timeout: Duration) -> ToolAnswer {
        let (events, mut received) = mpsc::channel(EVENTS);
        let tools = ClientTools::new(self, events);
        let mut run = std::pin::pin!(self.runner.run(code, timeout, &tools));
        let finished = loop {
            tokio::select! {
                biased;
                Some(event) = received.recv() => pass_on(event).await,
                finished = &mut run => break finished,
            }
        };
        match finished {
            Ok(finished) => answer(&finished),
            Err(error @ CodeError::Sandbox { found, .. }) => {
                let hint = match found.as_str() {
                    "partial" => "Set `code_sandbox = \"partial\"` in `[hub]` to run with less protection",
                    _ => "Set `code_sandbox = \"none\"` in `[hub]` to run without one",
                };
                ToolAnswer::failed(format!(
                    "{error}. {hint}, or run `toolbay doctor` to see what is missing."
                ))
            }
            Err(error) => ToolAnswer::failed(error.to_string()),
        }
    }
}

/// What a model reads: the value or the exception, then the log.
fn answer(finished: &Finished) -> ToolAnswer {
    let (mut text, is_error) = match &finished.outcome {
        Ok(Some(value)) => (value.clone(), false),
        Ok(None) => (String::new(), false),
        Err(error) => (error.clone(), true),
    };
    if !finished.logs.is_empty() {
        let before = if text.is_empty() { "" } else { "\n\nconsole.log:\n" };
        text = format!("{text}{before}{}", finished.logs.join("\n"));
    }
    if finished.omitted_logs > 0 {
        text.push_str(&format!("\n({} more lines were logged and left out)", finished.omitted_logs));
    }
    if text.is_empty() {
        text.push_str("(no value: end with an expression or `return` one)");
    }
    ToolAnswer { text, structured: None, is_error }
}

/// The tools as the client of a run calls them.
struct ClientTools {
    gateway: Arc<Gateway>,
    client: RequestClient,
    /// `_meta` of the request that has the code, as JSON text, which says who a modern client is. Progress of tools is not that of the run.
    meta: Option<Bytes>,
    events: mpsc::Sender<Rope>,
    /// Of the request that has the code, so that ids of calls are those of no other request.
    id: String,
    calls: AtomicU64,
}

impl ClientTools {
    fn new(run: &CodeRun, events: mpsc::Sender<Rope>) -> Self {
        let call = &run.request.call;
        let meta = call.param("_meta").and_then(|span| Item::parse(call.text.slice(span.range())).ok());
        Self {
            gateway: run.gateway.clone(),
            client: run.client.clone().in_code(),
            meta: meta.map(|meta| meta.without(&[meta::PROGRESS_TOKEN]).into_bytes()),
            events,
            id: run.request.id.as_raw().to_owned(),
            calls: AtomicU64::new(0),
        }
    }

    /// A call of the code as a request of the client.
    fn request(&self, call: &ToolCall) -> Result<Arc<Request>, String> {
        let table = self.client.host.table();
        let name = match &call.server {
            None => call.name.as_str(),
            Some(server) => table.tool_name(server, &call.name).ok_or_else(|| {
                format!(
                    "there is no tool `{}` of a server `{server}`; search_tools finds those that there are",
                    call.name
                )
            })?,
        };
        let params = ObjectBuilder::with_capacity(call.arguments.len() + 256);
        let params = match &self.meta {
            Some(meta) => params.raw("_meta", std::str::from_utf8(meta).map_err(|error| error.to_string())?),
            None => params,
        };
        let params = params.string("name", name).raw("arguments", &call.arguments).finish();
        let id = format!("code {} {}", self.id, self.calls.fetch_add(1, Ordering::Relaxed));
        let text = ObjectBuilder::with_capacity(params.len() + 128)
            .string("jsonrpc", "2.0")
            .string("id", &id)
            .string("method", method::TOOLS_CALL)
            .raw("params", &params)
            .finish();
        match Message::parse(Bytes::from(text)) {
            Ok(Message::Request(request)) => Ok(request.into()),
            Ok(_) => Err("the call is no request".to_owned()),
            Err(why) => Err(format!("the arguments cannot be used: {why}")),
        }
    }

    /// Waits for the response to a request, and passes on what the client is sent before.
    async fn response(&self, request: Arc<Request>) -> FinalResponse {
        let mut served = self.gateway.serve(&self.client, request.clone());
        loop {
            served = match served {
                Served::Known(response) => return response,
                Served::Soon(response) => return response.await,
                Served::Later(deferred) => deferred.serve(&self.gateway).await,
                Served::Recorded(recorded) => recorded.serve(&self.gateway).await,
                Served::Running(mut call) => loop {
                    match call.next().await {
                        CallStep::Final(response) => return response,
                        // Without a receiver the run has ended, and this with it.
                        CallStep::Event(event) => drop(self.events.send(event).await),
                    }
                },
                Served::Listening(_) => return FinalResponse::error(Some(&request.id), &error::cancelled()),
            }
        }
    }
}

impl ToolCaller for ClientTools {
    async fn call(&self, call: ToolCall) -> ToolReply {
        let request = match self.request(&call) {
            Ok(request) => request,
            Err(why) => return ToolReply::Failed(why),
        };
        let response = self.response(request).await;
        let Ok(Message::Response(response)) = Message::parse(response.text.into_bytes()) else {
            return ToolReply::Failed("the response cannot be read".to_owned());
        };
        let needs_input = response
            .result_field("resultType")
            .is_some_and(|span| response.raw(span) == "\"input_required\"");
        match (response.error(), response.result_text()) {
            _ if needs_input => ToolReply::Failed(error::no_input_in_code().message),
            (Some(error), _) => ToolReply::Failed(error.message),
            (None, Some(result)) => ToolReply::Result(Bytes::copy_from_slice(result.as_bytes())),
            (None, None) => ToolReply::Failed("there is no result".to_owned()),
        }
    }
}
