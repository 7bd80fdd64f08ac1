//! Routes requests to the servers that own what they name.

mod unavailable;
pub(crate) mod wait_for_server;

use std::{collections::HashSet, sync::Arc, time::Instant};

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_config::Validate;
use toolbay_policy::{Decision, Denial, Rule};
use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, ObjectBuilder, Request, Scanner, ServerName, Span, Tier,
    decode_string, encode_string, header_params::HeaderParam, method,
};
use toolbay_schema::SchemaView;
use toolbay_upstream::{Call, CallEventSender, Caller, InFlight, LogSource, ServerHandle, Timeouts};

pub use unavailable::Unavailable;

use crate::{Host, OutputRules, ResourceRoute, Route};

/// A request, its caller, and what else is needed to send it.
#[derive(Debug)]
pub struct HostRequest {
    /// What the client sent.
    pub request: Arc<Request>,
    pub caller: Caller,
    /// Receives progress, log messages and server requests.
    pub events: Option<CallEventSender>,
    /// Set when the request continues something that a server began.
    pub resumes: Option<Resume>,
}

/// The request state of a server, or the id of its task, returned by the client that kept it.
#[derive(Debug)]
pub struct Resume {
    /// The server it belongs to; no other server may see it.
    pub server: ServerName,
    /// The span of the client's copy, and the server's own value as JSON text; none where the request has that already.
    pub state: Option<(Span, Bytes)>,
}

/// The outcome of routing a request.
#[derive(Debug)]
pub enum Routed {
    /// It was sent to a server.
    Sent(InFlight),
    /// The host responds: a result as JSON text.
    Answered(String),
    /// The host refuses it.
    Refused(ErrorObject),
    /// A rule refuses this call of a tool.
    Denied(Denial),
    /// A person has to allow it first: then it is sent with [`Host::dispatch_allowed`].
    Ask(ConsentRequest),
}

/// A call that a person has to allow.
#[derive(Debug, Clone)]
pub struct ConsentRequest {
    /// The rule that wants it.
    pub rule: Arc<Rule>,
    /// The server that would get the call.
    pub server: ServerName,
    /// The name of the tool, as the client calls it.
    pub tool: String,
}

/// Whether a call was allowed before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Needed,
    Given,
}

/// Edits to a request before it is sent to its server.
#[derive(Default)]
struct RequestChange {
    /// The span of a name or URI, and the name by which the server knows it.
    renamed: Option<(Span, Bytes)>,
    /// The span of the arguments, and those that the server expects.
    arguments: Option<(Span, Bytes)>,
    only_as_task: bool,
    /// Timeouts of this call, where they differ from those of its server.
    timeouts: Option<Timeouts>,
}

/// What a request is about.
#[derive(Debug, Clone, Default)]
pub struct RequestTarget {
    /// The server.
    pub server: Option<ServerName>,
    /// The name or URI that the server uses, where the client uses another.
    pub own_name: Option<String>,
    /// Whether it is a tool that may destroy something, by its annotations.
    pub may_destroy: bool,
}

impl Host {
    /// Sends a request that names a tool, a resource or a prompt to the server that owns it.
    pub fn dispatch(&self, host_request: HostRequest) -> Routed {
        self.dispatch_for(host_request, false, &|| None, &mut None)
    }

    /// As [`Host::dispatch`], for a call that was allowed before, or goes on: no person is asked, and it does not count for limits.
    pub fn dispatch_allowed(&self, host_request: HostRequest) -> Routed {
        self.dispatch_for(host_request, true, &|| None, &mut None)
    }

    /// As these two, for a client that may see tools otherwise than they are, and a caller who applies what is to be done with the
    /// results of the tool.
    pub fn dispatch_for(
        &self,
        host_request: HostRequest,
        is_allowed: bool,
        view: &dyn Fn() -> Option<SchemaView>,
        output: &mut Option<Arc<OutputRules>>,
    ) -> Routed {
        let consent = if is_allowed { Consent::Given } else { Consent::Needed };
        let outcome = match host_request.request.call.method() {
            method::TOOLS_CALL => self.dispatch_tool(host_request, consent, view, output),
            method::PROMPTS_GET => self.dispatch_prompt(host_request),
            method::RESOURCES_READ => self.dispatch_read(host_request),
            method::COMPLETE => self.dispatch_completion(host_request),
            _ if is_about_task(&host_request.request.call) => self.use_task(host_request),
            other => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{other}`"))),
        };
        outcome.unwrap_or_else(Routed::Refused)
    }

    /// The parameters of a tool that clients on HTTP repeat in headers; none when there are none.
    pub fn header_params(&self, tool: &str) -> Option<Arc<[HeaderParam]>> {
        let table = self.peek_table();
        table.tool(tool).map(|route| &route.mirrored).filter(|params| !params.is_empty()).cloned()
    }

    /// What is to be done with the result of a call of a tool.
    pub fn output_rules(&self, call: &MethodCall) -> Option<Arc<OutputRules>> {
        let table = self.peek_table();
        table.tool(&call.string_param("name")?)?.output.clone()
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

    /// What is wrong with the arguments of a call, where its tool has a schema that is enforced.
    pub fn argument_faults(&self, request: &Request) -> Option<Vec<String>> {
        let call = &request.call;
        let table = self.peek_table();
        let route = table.tool(&call.string_param("name")?)?;
        let arguments = call.param("arguments").map_or(&b"{}"[..], |span| call.bytes(span));
        // Duplicate keys are refused when it is sent.
        let faults = faults(route, arguments, !call.has_wide_numbers).ok()?;
        faults.filter(|_| route.validate == Validate::Enforce)
    }

    /// What a request is about, as far as it names something that a server has.
    pub fn target_of(&self, request: &Request) -> RequestTarget {
        let (call, table) = (&request.call, self.peek_table());
        let own_name = |renamed: Option<&Bytes>| {
            renamed.and_then(|name| decode_string(name)).map(|name| name.into_owned())
        };
        let of = |route: &Route| RequestTarget {
            server: Some(route.server.name().clone()),
            own_name: own_name(route.renamed.as_ref()),
            may_destroy: route.tier == Tier::Destructive,
        };
        let found = match call.method() {
            method::TOOLS_CALL => call.string_param("name").and_then(|name| table.tool(&name).map(of)),
            method::PROMPTS_GET => call.string_param("name").and_then(|name| table.prompt(&name).map(of)),
            method::RESOURCES_READ => call.string_param("uri").and_then(|uri| {
                let route = table.resource(&uri).ok()?;
                let own_name = own_name(route.renamed.as_ref());
                Some(RequestTarget {
                    server: Some(route.server.name().clone()),
                    own_name,
                    may_destroy: false,
                })
            }),
            _ => None,
        };
        found.unwrap_or_default()
    }

    fn dispatch_tool(
        &self,
        host_request: HostRequest,
        consent: Consent,
        view: &dyn Fn() -> Option<SchemaView>,
        output: &mut Option<Arc<OutputRules>>,
    ) -> Result<Routed, ErrorObject> {
        let call = &host_request.request.call;
        let missing = |what: &str| ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("Missing {what}"));
        let name_span = call.param("name").ok_or_else(|| match call.params_text() {
            Some(_) => missing("tool name"),
            None => missing("params"),
        })?;
        let name = decode_string(&call.text[name_span.range()]).ok_or_else(|| not_a_string("name"))?;
        let table = self.peek_table();
        let by_short_name =
            || table.tool_by_short_name(&name).filter(|_| view().is_some_and(|view| view.short_names));
        let (route, long_name) = match table.tool(&name) {
            Some(route) => (route, None),
            None => match by_short_name() {
                Some((long_name, route)) => (route, Some(long_name)),
                None => return Err(self.unknown("tool", &name, &table.similar_tools(&name))),
            },
        };
        let arguments = call.param("arguments");
        if let Some(span) = arguments
            && !call.bytes(span).starts_with(b"{")
        {
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "`arguments` must be an object"));
        }
        // The client may have seen another schema than the one that the server has.
        let validator = route.validator.as_ref().filter(|_| route.mirrored.is_empty());
        let repaired = arguments.and(validator).and_then(|validator| validator.repaired(view));
        let restored = repaired
            .zip(arguments)
            .and_then(|(repaired, span)| Some((span, Bytes::from(repaired.restore(call.bytes(span))?))));
        let checked = match (&restored, arguments) {
            (Some((_, restored)), _) => &restored[..],
            (None, Some(span)) => call.bytes(span),
            (None, None) => b"{}",
        };
        if let Some(faults) = faults(route, checked, !call.has_wide_numbers)? {
            if route.validate == Validate::Enforce {
                return Ok(Routed::Answered(misfit(&name, &faults)));
            }
            let note = format!("arguments of `{name}` do not fit its schema: {}", faults.join("; "));
            route.server.log().push(LogSource::Event, &note);
        }
        if let Some(rules) = &route.rules {
            // The very bytes that the server gets.
            let decision = match consent {
                Consent::Needed => rules.decide(checked, Instant::now()),
                Consent::Given => rules.decide_again(checked),
            };
            match decision {
                Decision::Allow => {}
                Decision::Deny(denial) => return Ok(Routed::Denied(denial)),
                Decision::Ask(rule) => {
                    let (server, tool) = (route.server.name().clone(), name.into_owned());
                    return Ok(Routed::Ask(ConsentRequest { rule, server, tool }));
                }
            }
        }
        let long_name = || long_name.map(|name| Bytes::from(encode_string(name)));
        let renamed = route.renamed.clone().or_else(long_name).map(|raw| (name_span, raw));
        let change = RequestChange {
            renamed,
            arguments: restored,
            only_as_task: route.only_as_task,
            timeouts: route.timeouts,
        };
        let server = route.server.clone();
        output.clone_from(&route.output);
        drop(name);
        Ok(self.send(&server, host_request, change))
    }

    fn dispatch_prompt(&self, host_request: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &host_request.request.call;
        let name_span = required(call.param("name"), "name")?;
        let name = decode_string(&call.text[name_span.range()]).ok_or_else(|| not_a_string("name"))?;
        let table = self.peek_table();
        let Some(route) = table.prompt(&name) else {
            return Err(self.unknown("prompt", &name, &table.similar_prompts(&name)));
        };
        let renamed = route.renamed.clone().map(|raw| (name_span, raw));
        let server = route.server.clone();
        drop(name);
        Ok(self.send(&server, host_request, RequestChange { renamed, ..RequestChange::default() }))
    }

    fn dispatch_read(&self, host_request: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &host_request.request.call;
        let uri_span = required(call.param("uri"), "uri")?;
        let uri = decode_string(&call.text[uri_span.range()]).ok_or_else(|| not_a_string("uri"))?;
        let route = self.peek_table().resource(&uri).map_err(|candidates| no_resource(&uri, &candidates))?;
        let renamed = route.renamed.map(|raw| (uri_span, raw));
        drop(uri);
        Ok(self.send(&route.server, host_request, RequestChange { renamed, ..RequestChange::default() }))
    }

    fn dispatch_completion(&self, host_request: HostRequest) -> Result<Routed, ErrorObject> {
        let call = &host_request.request.call;
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
        Ok(self.send(&server, host_request, RequestChange { renamed, ..RequestChange::default() }))
    }

    /// Sends a request about a task to its server, which the caller names.
    fn use_task(&self, host_request: HostRequest) -> Result<Routed, ErrorObject> {
        let server_name = host_request.resumes.as_ref().map(|resumes| resumes.server.clone());
        let server_name =
            server_name.ok_or_else(|| ErrorObject::new(ErrorCode::INVALID_PARAMS, "no such task"))?;
        let server = self.server(server_name.as_str()).ok_or_else(|| {
            let message =
                format!("the task belongs to server `{server_name}`, which is no longer configured");
            ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
        })?;
        Ok(self.send(&server, host_request, RequestChange::default()))
    }

    fn unknown(&self, kind: &str, name: &str, similar: &[&str]) -> ErrorObject {
        if let Some(absence) = self.absence(name) {
            let hint = absence.hint();
            let data = serde_json::json!({
                "reason": "not-ready", "server": absence.server.as_str(), "state": absence.state(), "hint": hint,
            });
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            let message = format!("{absence}{hint}");
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

    /// Sends a request to the instance of `server` that serves the caller.
    fn send(&self, server: &ServerHandle, host_request: HostRequest, change: RequestChange) -> Routed {
        let HostRequest { request, caller, events, resumes } = host_request;
        let RequestChange { renamed, arguments, only_as_task, timeouts } = change;
        let mut renamed: SmallVec<[(Span, Bytes); 1]> = renamed.into_iter().chain(arguments).collect();
        if let Some(Resume { server: server_name, state }) = resumes {
            if server_name != *server.name() {
                let message = format!(
                    "`requestState` belongs to server `{server_name}`, which no longer answers this request"
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

/// Timeouts of a request whose response is late by design; none for others. Subscriptions have no limit anyway.
fn call_timeout(server: &ServerHandle, method_name: &str) -> Option<Timeouts> {
    let usual = server.timeouts();
    // The response is the end of the task, and there need not be progress before.
    (method_name == method::TASKS_RESULT).then_some(Timeouts { idle: usual.total, ..usual })
}

/// Validation errors of arguments, if any. Refuses arguments with a duplicate key: the validator and the server could take
/// different ones.
fn faults(route: &Route, arguments: &[u8], exact: bool) -> Result<Option<Vec<String>>, ErrorObject> {
    let validator = route.validator.as_ref().filter(|_| route.validate != Validate::Off);
    // What is certainly valid has no duplicate key: most calls end here.
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

/// A duplicate key of an object, whatever escapes it is written with.
fn key_twice(object: &[u8]) -> Option<String> {
    let mut keys = HashSet::new();
    let mut twice = None;
    let mut scanner = Scanner::new(object);
    // Anything but an object was refused before.
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

/// The response to invalid arguments: a failed result, so that the model can correct itself.
fn misfit(tool: &str, faults: &[String]) -> String {
    failed_result(&format!("The arguments do not match the schema of `{tool}`:\n{}", faults.join("\n")))
}

/// The result of a call that failed, for the model.
pub fn failed_result(text: &str) -> String {
    let content = ObjectBuilder::new().string("type", "text").string("text", text).finish();
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
