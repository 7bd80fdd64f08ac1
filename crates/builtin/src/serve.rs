//! The part of a server that is the same for all of ours.
//!
//! Both eras are spoken: a request that names a revision in `_meta` stands alone, any other belongs to a handshake.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    pin::Pin,
    sync::Arc,
};

use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, Request, RequestId, Revision, Rope, encode_string, error,
    meta, method, result,
};
use toolbay_transport::{Incoming, Wire, memory};

/// How many calls one connection may have running.
const MAX_CALLS: usize = 256;

/// What a call comes to: the fields of a `tools/call` result as a JSON object, or why there is none.
pub type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<String, ErrorObject>> + Send + 'a>>;

/// A server of our own.
pub trait Server: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it says to models about itself.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// Its tools, as a JSON array.
    fn tools(&self) -> String;

    /// Calls a tool; `arguments` is a JSON object. Dropping the future cancels the call.
    fn call<'a>(&'a self, tool: &'a str, arguments: &'a str) -> CallFuture<'a>;
}

/// Makes a server connectable, once per life of its connection.
pub fn in_process(server: Arc<dyn Server>) -> Arc<dyn Fn(&TaskTracker) -> Wire + Send + Sync> {
    Arc::new(move |tasks| {
        let (inside, outside) = memory::pair(tasks);
        tasks.spawn(serve(inside, server.clone()));
        outside
    })
}

/// Serves one connection until the client is gone.
///
/// Invariant: the task awaits only in this `select!`, and takes the next message only when there is room for its
/// answer.
pub async fn serve(wire: Wire, server: Arc<dyn Server>) {
    let Wire { outgoing, mut incoming } = wire;
    let mut calls = FuturesUnordered::new();
    let mut running: HashMap<RequestId, AbortHandle> = HashMap::new();
    let mut done: VecDeque<Rope> = VecDeque::new();
    loop {
        tokio::select! {
            next = next_message(&outgoing, &mut incoming), if running.len() + done.len() < MAX_CALLS => {
                let Some((slot, message)) = next else { return };
                match message {
                    Incoming::Message(Message::Request(request)) if request.call.method() == method::TOOLS_CALL => {
                        let (abort, registration) = AbortHandle::new_pair();
                        running.insert(request.id.clone(), abort);
                        let server = server.clone();
                        calls.push(async move {
                            let answer = Abortable::new(call(&*server, &request), registration).await;
                            (request.id, answer)
                        });
                    }
                    Incoming::Message(Message::Request(request)) => slot.send(answer(&*server, &request)),
                    Incoming::Message(Message::Notification(note)) => {
                        if let Some(abort) = cancelled(&note).and_then(|id| running.remove(&id)) {
                            abort.abort();
                        }
                    }
                    Incoming::Message(Message::Response(_))
                    | Incoming::About(..)
                    | Incoming::Failed { .. }
                    | Incoming::Lost { .. } => {}
                    Incoming::Refused(refusal) => {
                        let code = ErrorCode::INVALID_REQUEST;
                        let why = ErrorObject::new(code, refusal.why.to_string());
                        slot.send(error(refusal.id.as_ref(), &why).into());
                    }
                }
            }
            Some((id, answer)) = calls.next() => {
                running.remove(&id);
                done.extend(answer); // an aborted call has none
            }
            slot = outgoing.reserve(), if !done.is_empty() => match (slot, done.pop_front()) {
                (Ok(slot), Some(text)) => slot.send(text),
                _ => return,
            },
        }
    }
}

async fn next_message<'a>(
    outgoing: &'a mpsc::Sender<Rope>,
    incoming: &mut mpsc::Receiver<Incoming>,
) -> Option<(mpsc::Permit<'a, Rope>, Incoming)> {
    let slot = outgoing.reserve().await.ok()?;
    Some((slot, incoming.recv().await?))
}

fn answer(server: &dyn Server, request: &Request) -> Rope {
    let call = &request.call;
    let fields = match call.method() {
        method::INITIALIZE => introduction(server, call),
        method::DISCOVER => discovery(server),
        method::PING => String::new(),
        method::TOOLS_LIST => format!("\"tools\":{}{}", server.tools(), modern_list(call)),
        other => {
            let unknown = ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{other}`"));
            return error(Some(&request.id), &unknown).into();
        }
    };
    result(&request.id, &format!("{{{fields}}}")).into()
}

async fn call(server: &dyn Server, request: &Request) -> Rope {
    let Some(tool) = request.call.string_param("name") else {
        let missing = ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.name` is missing or no string");
        return error(Some(&request.id), &missing).into();
    };
    let arguments = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    match server.call(&tool, arguments).await {
        Ok(text) if is_modern(&request.call) => {
            let rest = text.strip_prefix('{').unwrap_or(&text);
            result(&request.id, &format!("{{\"resultType\":\"complete\",{rest}")).into()
        }
        Ok(text) => result(&request.id, &text).into(),
        Err(why) => error(Some(&request.id), &why).into(),
    }
}

fn introduction(server: &dyn Server, call: &Notification) -> String {
    let asked = call.string_param("protocolVersion").and_then(|version| version.parse::<Revision>().ok());
    let revision = asked.filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY);
    format!(
        "\"protocolVersion\":\"{revision}\",{},\"serverInfo\":{}",
        capabilities_and_instructions(server),
        info(server)
    )
}

fn discovery(server: &dyn Server) -> String {
    let versions: Vec<String> = Revision::ALL.iter().rev().map(|version| format!("\"{version}\"")).collect();
    format!(
        "\"resultType\":\"complete\",\"supportedVersions\":[{}],{},\"ttlMs\":0,\"cacheScope\":\"private\",\
         \"_meta\":{{\"{}\":{}}}",
        versions.join(","),
        capabilities_and_instructions(server),
        meta::SERVER_INFO,
        info(server)
    )
}

fn capabilities_and_instructions(server: &dyn Server) -> String {
    match server.instructions() {
        Some(text) => format!("\"capabilities\":{{\"tools\":{{}}}},\"instructions\":{}", encode_string(text)),
        None => "\"capabilities\":{\"tools\":{}}".to_owned(),
    }
}

fn info(server: &dyn Server) -> String {
    format!("{{\"name\":{},\"version\":\"{}\"}}", encode_string(server.name()), env!("CARGO_PKG_VERSION"))
}

fn modern_list(call: &Notification) -> &'static str {
    if is_modern(call) { ",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"" } else { "" }
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
