//! The methods.

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, Request, Revision, method};

use super::{
    answer::{Call, Reply, server_info},
    context::level_of,
    listen,
    page::page,
    work,
};

type Replied = Result<Value, ErrorObject>;

/// Does what a request asks for.
pub(super) async fn reply(call: &Call, revision: Revision) -> Result<Reply, ErrorObject> {
    let modern = revision.is_modern();
    let request = &call.request;
    let asked = request.call.method();
    let replied = match asked {
        method::TOOLS_CALL => return work::call_tool(call, revision).await,
        method::PROMPTS_GET => work::get_prompt(call, revision).await,
        method::RESOURCES_READ => {
            work::read_resource(call, revision).await.map(|result| cached(call, modern, result))
        }
        method::COMPLETE => Ok(complete(call)),
        method::TOOLS_LIST
        | method::RESOURCES_LIST
        | method::RESOURCE_TEMPLATES_LIST
        | method::PROMPTS_LIST => list(call, revision).map(|result| cached(call, modern, result)),
        method::DISCOVER if modern => Ok(cached(call, modern, discover(call, revision))),
        method::LISTEN if modern => Ok(listen::listen(&call.shared, request, &call.sink).await),
        method::INITIALIZE if !modern => Ok(initialize(call)),
        method::PING if !modern => Ok(json!({})),
        method::SET_LEVEL if !modern => set_level(call),
        method::RESOURCES_SUBSCRIBE if !modern => {
            call.session.subscribe(uri(request)?);
            Ok(json!({}))
        }
        method::RESOURCES_UNSUBSCRIBE if !modern => {
            call.session.unsubscribe(&uri(request)?);
            Ok(json!({}))
        }
        _ => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {asked}"))),
    };
    replied.map(Reply::Value)
}

fn initialize(call: &Call) -> Value {
    let request = &call.request.call;
    let asked = request.string_param("protocolVersion").unwrap_or_default();
    let revision = call.shared.settings().spoken.agreed(&asked);
    call.session.agree(revision, field(call, "capabilities"));
    let mut result = introduction(call, revision);
    result["protocolVersion"] = revision.as_str().into();
    result["serverInfo"] = server_info(&call.shared.name);
    result
}

fn discover(call: &Call, revision: Revision) -> Value {
    let mut result = introduction(call, revision);
    result["supportedVersions"] = json!(call.shared.settings().spoken.versions());
    result
}

/// The description of a server in legacy and modern revisions.
fn introduction(call: &Call, revision: Revision) -> Value {
    let mut result = json!({"capabilities": call.shared.offers().capabilities(revision)});
    if let Some(instructions) = &call.shared.settings().instructions {
        result["instructions"] = instructions.as_str().into();
    }
    result
}

fn list(call: &Call, revision: Revision) -> Replied {
    let size = call.shared.settings().page_size;
    let offers = call.shared.offers();
    let (field, items) = match call.request.call.method() {
        method::TOOLS_LIST => ("tools", offers.tool_list(revision)),
        method::RESOURCES_LIST => ("resources", offers.resource_list()),
        method::PROMPTS_LIST => ("prompts", offers.prompt_list()),
        _ => ("resourceTemplates", offers.template_list()),
    };
    page(&call.request, field, items, size)
}

fn complete(call: &Call) -> Value {
    let (reference, argument) = (field(call, "ref"), field(call, "argument"));
    let named = reference["name"].as_str().or(reference["uri"].as_str()).unwrap_or_default();
    let begun = argument["value"].as_str().unwrap_or_default();
    let offers = call.shared.offers();
    let fitting = offers
        .completions
        .iter()
        .find(|completion| completion.reference == named && argument["name"] == completion.argument.as_str());
    let values = fitting.map(|completion| completion.values.as_slice()).unwrap_or_default();
    let values: Vec<&String> = values.iter().filter(|value| value.starts_with(begun)).take(100).collect();
    json!({"completion": {"values": values, "hasMore": false}})
}

fn set_level(call: &Call) -> Replied {
    let named = call.request.call.string_param("level").unwrap_or_default();
    let level = level_of(&named).ok_or_else(|| invalid(format!("unknown log level {named}")))?;
    call.session.set_level(level);
    Ok(json!({}))
}

pub(super) fn uri(request: &Request) -> Result<String, ErrorObject> {
    let uri = request.call.string_param("uri").map(|uri| uri.into_owned());
    uri.ok_or_else(|| invalid("`uri` is missing".to_owned()))
}

pub(super) fn arguments(request: &Request) -> Replied {
    let Some(span) = request.call.param("arguments") else { return Ok(json!({})) };
    serde_json::from_str(request.call.raw(span)).map_err(|error| invalid(error.to_string()))
}

pub(super) fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
}

/// A field of `params`, as a value.
fn field(call: &Call, name: &str) -> Value {
    let text = call.request.call.param(name).map(|span| call.request.call.raw(span));
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn cached(call: &Call, modern: bool, mut result: Value) -> Value {
    // What asks for more is no result to keep.
    if modern && result.get("resultType").is_none() {
        let (ttl, is_public) = call.shared.settings().caching;
        result["ttlMs"] = ttl.into();
        result["cacheScope"] = if is_public { "public" } else { "private" }.into();
    }
    result
}
