//! Sending a request to whoever can answer it.

mod unavailable;
pub(crate) mod wait_for_server;

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_config::Validate;
use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, ObjectBuilder, Request, Scanner, ServerName, Span, decode_string,
    header_params::HeaderParam, method,
};
use toolbay_upstream::{Call, CallEventSender, Caller, InFlight, LogSource, ServerHandle, Timeouts};

pub use unavailable::Unavailable;

use crate::{Host, ResourceRoute, Route};

/// A request with what belongs to it.
#[derive(Debug)]
pub struct HostRequest {
    /// What the client sent.
    pub request: Arc<Request>,
    pub caller: Caller,
    /// Receives progress, log messages and server requests.
    pub events: Option<CallEventSender>,
    /// Set when this goes on with something that a server began.
    pub resumes: Option<Resume>,
}

/// A server's own state or the id of its task, handed back by the client that kept it.
#[derive(Debug)]
pub struct Resume {
    /// Whose state it is; nobody else may see it.
    pub server: ServerName,
    /// Where the client's copy stands, and what the server knows as JSON text; nothing where that stands there already.
    pub state: Option<(Span, Bytes)>,
}

/// What became of a request.
#[derive(Debug)]
pub enum Routed {
    /// A server has it.
    Sent(InFlight),
    /// We know the answer: a result as JSON text.
    Answered(String),
    /// It cannot be answered.
    Refused(ErrorObject),
}

/// What changes of a request on its way to its server.
#[derive(Default)]
struct RequestChange {
    /// A name or URI, and what the server calls it.
    renamed: Option<(Span, Bytes)>,
    only_as_task: bool,
    /// How long this may take, where that is not as usual with its server.
    timeouts: Option<Timeouts>,
}

impl Host {
    /// Sends a request that names a tool, a resource or a prompt to its owner.
    pub fn dispatch(&self, asked: HostRequest) -> Routed {
        let outcome = match asked.request.call.method() {
            method::TOOLS_CALL => self.dispatch_tool(asked),
            method::PROMPTS_GET => self.dispatch_prompt(asked),
            method::RESOURCES_READ => self.dispatch_read(asked),
            method::COMPLETE => self.dispatch_completion(asked),
            _ if is_about_task(&asked.request.call) => self.use_task(asked),
            other => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{other}`"))),
        };
        outcome.unwrap_or_else(Routed::Refused)
    }

    /// The parameters of a tool that clients on HTTP repeat in headers; nothing when there are none.
    pub fn header_params(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        let table = self.peek_table();
        table.tool(tool).map(|route| &route.mirrored).filter(|params| !params.is_empty()).cloned()
    }

    /// The server that a request is about, where it names something that one has.
    pub fn server_of(&self, request: &Request) -> Option<ServerName> {
        let (call, table) = (&request.call, self.peek_table());
        let server = match call.method() {
            method::TOOLS_CALL => &table.tool(&call.string_param("name")?)?.server,
            method::PROMPTS_GET => &table.prompt(&call.string_param("name")?)?.server,
            method::RESOURCES_READ => &table.resource(&call.string_param("uri")?).ok()?.server,
            _ => return None,
        };
        Some(server.name().clone())
    }

    fn dispatch_tool(&self, asked: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &asked.request.call;
        let missing = |what: &str| ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("Missing {what}"));
        let name_span = call.param("name").ok_or_else(|| match call.params_text() {
            Some(_) => missing("tool name"),
            None => missing("params"),
        })?;
        let name = decode_string(&call.text[name_span.range()]).ok_or_else(|| not_a_string("name"))?;
        let table = self.peek_table();
        let Some(route) = table.tool(&name) else {
            return Err(self.unknown("tool", &name, &table.similar_tools(&name)));
        };
        let arguments = call.param("arguments");
        if let Some(span) = arguments
            && !call.bytes(span).starts_with(b"{")
        {
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "`arguments` must be an object"));
        }
        if let Some(faults) =
            faults(route, arguments.map_or(b"{}", |span| call.bytes(span)), !call.has_wide_numbers)?
        {
            if route.validate == Validate::Enforce {
                return Ok(Routed::Answered(misfit(&name, &faults)));
            }
            let note = format!("arguments of `{name}` do not fit its schema: {}", faults.join("; "));
            route.server.log().push(LogSource::Event, &note);
        }
        let renamed = route.renamed.clone().map(|raw| (name_span, raw));
        let change = RequestChange { renamed, only_as_task: route.only_as_task, timeouts: route.timeouts };
        let server = route.server.clone();
        drop(name);
        Ok(self.send(&server, asked, change))
    }

    fn dispatch_prompt(&self, asked: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &asked.request.call;
        let name_span = required(call.param("name"), "name")?;
        let name = decode_string(&call.text[name_span.range()]).ok_or_else(|| not_a_string("name"))?;
        let table = self.peek_table();
        let Some(route) = table.prompt(&name) else {
            return Err(self.unknown("prompt", &name, &table.similar_prompts(&name)));
        };
        let renamed = route.renamed.clone().map(|raw| (name_span, raw));
        let server = route.server.clone();
        drop(name);
        Ok(self.send(&server, asked, RequestChange { renamed, ..RequestChange::default() }))
    }

    fn dispatch_read(&self, asked: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &asked.request.call;
        let uri_span = required(call.param("uri"), "uri")?;
        let uri = decode_string(&call.text[uri_span.range()]).ok_or_else(|| not_a_string("uri"))?;
        let route = self.peek_table().resource(&uri).map_err(|candidates| no_resource(&uri, &candidates))?;
        let renamed = route.renamed.map(|raw| (uri_span, raw));
        drop(uri);
        Ok(self.send(&route.server, asked, RequestChange { renamed, ..RequestChange::default() }))
    }

    fn dispatch_completion(&self, asked: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &asked.request.call;
        let reference = required(call.param("ref"), "ref")?;
        let item = toolbay_protocol::model::Item::parse(call.text.slice(reference.range()))
            .map_err(|error| ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`ref`: {error}")))?;
        let inner = |field| {
            let span: Span = item.span(field)?;
            Some(Span { start: span.start + reference.start, end: span.end + reference.start })
        };
        let table = self.peek_table();
        let (server, renamed): (ServerHandle, Option<(Span, Bytes)>) = match item.string("type").as_deref() {
            Some("ref/prompt") => {
                let name = item.string("name").ok_or_else(|| not_a_string("ref.name"))?;
                let route = table
                    .prompt(&name)
                    .ok_or_else(|| self.unknown("prompt", &name, &table.similar_prompts(&name)))?;
                (route.server.clone(), inner("name").zip(route.renamed.clone()))
            }
            Some("ref/resource") => {
                let uri = item.string("uri").ok_or_else(|| not_a_string("ref.uri"))?;
                let route = match table.template(&uri) {
                    Some(route) => route.clone(),
                    None => table.resource(&uri).map_err(|candidates| no_resource(&uri, &candidates))?,
                };
                let ResourceRoute { server, renamed } = route;
                (server, inner("uri").zip(renamed))
            }
            _ => {
                let message = "`ref.type` must be `ref/prompt` or `ref/resource`";
                return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, message));
            }
        };
        Ok(self.send(&server, asked, RequestChange { renamed, ..RequestChange::default() }))
    }

    /// What a task is about only its server knows; the caller knows the server.
    fn use_task(&self, asked: HostRequest) -> Result<Routed, ErrorObject> {
        let owner = asked.resumes.as_ref().map(|resumes| resumes.server.clone());
        let owner = owner.ok_or_else(|| ErrorObject::new(ErrorCode::INVALID_PARAMS, "no such task"))?;
        let server = self.server(owner.as_str()).ok_or_else(|| {
            let message = format!("the task belongs to server `{owner}`, which is no longer configured");
            ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
        })?;
        Ok(self.send(&server, asked, RequestChange::default()))
    }

    fn unknown(&self, kind: &str, name: &str, similar: &[&str]) -> ErrorObject {
        if let Some(absence) = self.absence(name) {
            let hint = absence.hint();
            let data = serde_json::json!({
                "reason": "not-ready", "server": absence.server.as_str(), "state": absence.state(), "hint": hint,
            });
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            let message = format!("cannot use the {kind} `{name}`: {absence}{hint}");
            return ErrorObject::new(ErrorCode::INVALID_PARAMS, message).with_data(&data);
        }
        let mut message = format!("no server offers the {kind} `{name}`");
        if !similar.is_empty() {
            message.push_str(&format!("; did you mean `{}`?", similar.join("`, `")));
        } else if self.is_starting() {
            message.push_str("; some servers are still starting, try again in a moment");
        }
        ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Sends a request to the process of `server` that serves its client.
    fn send(&self, server: &ServerHandle, asked: HostRequest, change: RequestChange) -> Routed {
        let HostRequest { request, caller, events, resumes } = asked;
        let RequestChange { renamed, only_as_task, timeouts } = change;
        let mut renamed: SmallVec<[(Span, Bytes); 1]> = renamed.into_iter().collect();
        if let Some(Resume { server: owner, state }) = resumes {
            if owner != *server.name() {
                let message = format!(
                    "`requestState` belongs to server `{owner}`, which no longer answers this request"
                );
                return Routed::Refused(ErrorObject::new(ErrorCode::INVALID_PARAMS, message));
            }
            renamed.extend(state);
        }
        let timeouts = call_timeout(server, request.call.method()).or(timeouts);
        // Tasks outlive the calls that made them, and the first process is the only one that stays.
        let about_task = only_as_task || request.call.param("task").is_some() || is_about_task(&request.call);
        let (instance, lease) = if about_task {
            (server.clone(), None)
        } else {
            self.instance(server, caller.id, caller.root.as_deref())
        };
        let call = instance.call(Call { request, caller, renamed, events, only_as_task, timeouts });
        Routed::Sent(match lease {
            Some(lease) => call.keeping(lease),
            None => call,
        })
    }
}

fn is_about_task(call: &MethodCall) -> bool {
    matches!(
        call.method(),
        method::TASKS_GET
            | method::TASKS_UPDATE
            | method::TASKS_RESULT
            | method::TASKS_CANCEL
            | method::LISTEN
    )
}

/// How long a request may take that is answered late by design; nothing for others. Subscriptions have no limit anyway.
fn call_timeout(server: &ServerHandle, asked: &str) -> Option<Timeouts> {
    let usual = server.timeouts();
    // The answer is the end of the task, and there need not be a sign of life before.
    (asked == method::TASKS_RESULT).then(|| Timeouts { idle: usual.total, ..usual })
}

/// What does not fit, if something does not. Refuses arguments that have a key twice: the check and the server could take
/// another one of the two.
fn faults(route: &Route, arguments: &[u8], exact: bool) -> Result<Option<Vec<String>>, ErrorObject> {
    let validator = route.validator.as_ref().filter(|_| route.validate != Validate::Off);
    // Whatever certainly fits has no key twice: most calls are done here.
    if exact && validator.is_some_and(|validator| validator.fits_plainly(arguments)) {
        return Ok(None);
    }
    if let Some(key) = key_twice(arguments) {
        let message = format!("`arguments` has the key `{key}` twice");
        return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, message));
    }
    let faults = validator.map(|validator| validator.faults(arguments, exact)).unwrap_or_default();
    Ok((!faults.is_empty()).then_some(faults))
}

/// A key that stands twice in an object, however it is written.
fn key_twice(object: &[u8]) -> Option<String> {
    let mut keys = HashSet::new();
    let mut twice = None;
    let mut scanner = Scanner::new(object);
    // What is no object was refused before.
    let _ = scanner.object(|scanner, key| {
        scanner.value()?;
        let written = &object[key.start as usize - 1..key.end as usize + 1];
        let key = decode_string(written).unwrap_or_default();
        if keys.contains(&key) {
            twice.get_or_insert_with(|| key.clone().into_owned());
        }
        keys.insert(key);
        Ok(())
    });
    twice
}

/// The answer to arguments that do not fit: a failed result, so that the model can correct itself (R127).
fn misfit(tool: &str, faults: &[String]) -> String {
    let text = format!("The arguments do not match the schema of `{tool}`:\n{}", faults.join("\n"));
    let content = ObjectBuilder::new().string("type", "text").string("text", &text).finish();
    ObjectBuilder::new().array("content", [content.as_str()]).raw("isError", "true").finish()
}

fn required(span: Option<Span>, name: &str) -> Result<Span, ErrorObject> {
    span.ok_or_else(|| ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`params.{name}` is missing")))
}

fn not_a_string(name: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`params.{name}` must be a string"))
}

pub(crate) fn no_resource(uri: &str, candidates: &[ServerName]) -> ErrorObject {
    let mut message = format!("no server has the resource `{uri}`");
    if !candidates.is_empty() {
        let names: Vec<&str> = candidates.iter().map(ServerName::as_str).collect();
        message.push_str(&format!("; several could: {}. Write toolbay://<server>/{uri}", names.join(", ")));
    }
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message).with_data(&serde_json::json!({ "uri": uri }))
}
