//! Tools of this program as an MCP server.
//!
//! At the other end of a connection in memory stands an ordinary server of both eras: a request that names a revision in
//! `_meta` stands alone, any other belongs to a handshake. So tools of this program are listed, checked and called like all
//! others, by whoever uses the host.

use std::{collections::HashMap, sync::Arc};

use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable},
    stream::FuturesUnordered,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, Request, RequestId, Revision, Rope, meta, method,
};
use toolbay_transport::{Connection, Incoming, memory};

use super::{Tool, ToolContext, ToolOutput};
use crate::{CallOptions, InProcess, Progress};

/// How many calls one connection may have running.
const MAX_CALLS: usize = 256;

/// A server with these tools, for [`Host::start`](crate::Host::start) or
/// [`HostBuilder::in_process`](crate::HostBuilder::in_process).
pub fn serve_tools(tools: Vec<Arc<dyn Tool>>) -> InProcess {
    let tools: Arc<[Arc<dyn Tool>]> = tools.into();
    Arc::new(move |tasks| {
        let (inside, outside) = memory::pair(tasks);
        tasks.spawn(serve(inside, tools.clone()));
        outside
    })
}

/// Invariant: the task awaits only in its `select!`, and takes the next message only when there is room for its answer.
async fn serve(wire: Connection, tools: Arc<[Arc<dyn Tool>]>) {
    let Connection { outgoing, mut incoming } = wire;
    let mut calls = FuturesUnordered::new();
    let mut running: HashMap<RequestId, AbortHandle> = HashMap::new();
    loop {
        tokio::select! {
            next = next_message(&outgoing, &mut incoming), if running.len() < MAX_CALLS => {
                let Some((slot, message)) = next else { return };
                match message {
                    Message::Request(request) if request.call.method() == method::TOOLS_CALL => {
                        let (abort, registration) = AbortHandle::new_pair();
                        running.insert(request.id.clone(), abort);
                        let call = call(tools.clone(), outgoing.clone(), request);
                        calls.push(Abortable::new(call, registration));
                    }
                    Message::Request(request) => slot.send(respond(&request, server_info(&tools, &request.call))),
                    Message::Notification(note) => {
                        if let Some(abort) = cancelled(&note).and_then(|id| running.remove(&id)) {
                            abort.abort();
                        }
                    }
                    Message::Response(_) => {} // nothing is ever asked
                }
            }
            Some(done) = calls.next(), if !calls.is_empty() => {
                if let Ok(id) = done {
                    running.remove(&id);
                }
            }
        }
    }
}

async fn next_message<'a>(
    outgoing: &'a mpsc::Sender<Rope>,
    incoming: &mut mpsc::Receiver<Incoming>,
) -> Option<(mpsc::Permit<'a, Rope>, Message)> {
    let slot = outgoing.reserve().await.ok()?;
    loop {
        // What is no message never comes from the other end of a pair.
        if let Incoming::Message(message) = incoming.recv().await? {
            return Some((slot, message));
        }
    }
}

/// Runs a tool and sends its answer.
async fn call(tools: Arc<[Arc<dyn Tool>]>, outgoing: mpsc::Sender<Rope>, request: Box<Request>) -> RequestId {
    let outcome = match request.call.string_param("name") {
        None => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.name` is missing or no string")),
        Some(name) => match tools.iter().find(|tool| tool.name() == name) {
            None => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("unknown tool `{name}`"))),
            Some(tool) => {
                let arguments = request.call.param("arguments").map(|span| request.call.raw(span));
                let arguments = serde_json::from_str(arguments.unwrap_or("{}")).unwrap_or_default();
                let context = ToolContext::with(reporting(&request.call, &outgoing));
                Ok(result(&tool.execute(arguments, &context).await, is_modern(&request.call)))
            }
        },
    };
    // Nobody wants the answer only when the connection is about to end.
    let _ = outgoing.send(respond(&request, outcome)).await;
    request.id
}

/// Progress goes to whoever asked for it, as far as there is room.
fn reporting(call: &Notification, outgoing: &mpsc::Sender<Rope>) -> CallOptions {
    let Some(token) = call.meta(meta::PROGRESS_TOKEN) else { return CallOptions::new() };
    let (token, outgoing) = (call.raw(token).to_owned(), outgoing.clone());
    CallOptions::new().on_progress(move |Progress { progress, total, message }| {
        let mut params = json!({ "progress": progress, "total": total, "message": message });
        if let Some(fields) = params.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
            fields.insert("progressToken".to_owned(), serde_json::from_str(&token).unwrap_or_default());
        }
        let text = toolbay_protocol::notification(method::PROGRESS, Some(&params.to_string()));
        let _ = outgoing.try_send(text.into());
    })
}

fn result(output: &ToolOutput, modern: bool) -> Value {
    let mut result =
        json!({ "content": [{ "type": "text", "text": output.text }], "isError": output.is_error });
    // What a server said is passed on whole, unless it was shortened.
    if let Some(whole) = output.result.as_ref().filter(|whole| whole.to_text() == output.text) {
        result = whole.to_value();
    }
    if modern {
        result["resultType"] = json!("complete");
    }
    result
}

fn server_info(tools: &[Arc<dyn Tool>], call: &Notification) -> Result<Value, ErrorObject> {
    let info = json!({ "name": "toolbay-host", "version": env!("CARGO_PKG_VERSION") });
    let capabilities = json!({ "tools": {} });
    let mut result = match call.method() {
        method::INITIALIZE => {
            let asked = call.string_param("protocolVersion").and_then(|asked| asked.parse::<Revision>().ok());
            let revision = asked.filter(|asked| !asked.is_modern()).unwrap_or(Revision::LATEST_LEGACY);
            json!({ "protocolVersion": revision.as_str(), "capabilities": capabilities, "serverInfo": info })
        }
        method::DISCOVER => {
            let versions: Vec<&str> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
            json!({ "supportedVersions": versions, "capabilities": capabilities, "_meta": { meta::SERVER_INFO: info } })
        }
        method::PING => json!({}),
        method::TOOLS_LIST => {
            json!({ "tools": tools.iter().map(|tool| listed(&**tool)).collect::<Vec<_>>() })
        }
        other => {
            return Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{other}`")));
        }
    };
    if is_modern(call) {
        result["resultType"] = json!("complete");
        if matches!(call.method(), method::DISCOVER | method::TOOLS_LIST) {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }
    Ok(result)
}

fn listed(tool: &dyn Tool) -> Value {
    json!({ "name": tool.name(), "description": tool.description(), "inputSchema": tool.schema() })
}

fn respond(request: &Request, outcome: Result<Value, ErrorObject>) -> Rope {
    match outcome {
        Ok(result) => toolbay_protocol::result(&request.id, &result.to_string()).into(),
        Err(error) => toolbay_protocol::error(Some(&request.id), &error).into(),
    }
}

fn is_modern(call: &Notification) -> bool {
    call.meta(meta::PROTOCOL_VERSION).is_some()
}

fn cancelled(note: &Notification) -> Option<RequestId> {
    if note.method() != method::CANCELLED {
        return None;
    }
    RequestId::from_raw(note.raw(note.param("requestId")?).as_bytes())
}
