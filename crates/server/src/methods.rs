//! The methods: what each request is answered with.

use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, ProtocolFeatures, Request, Revision, Rope, encode_string, error,
    meta, method, result,
};

use crate::{Call, Progress, Server};

/// Whether the client of a connection has introduced itself.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    is_done: bool,
}

impl Handshake {
    /// Lets a request in, or says why not. Those that stand alone need no handshake; `ping` is allowed before it.
    pub(super) fn admit(&mut self, request: &Request) -> Result<(), ErrorObject> {
        let refuse = |why: &str| Err(ErrorObject::new(ErrorCode::SERVER_ERROR, why));
        match request.call.method() {
            _ if !features(&request.call).has_sessions() => Ok(()),
            method::INITIALIZE if self.is_done => refuse("Already initialized"),
            method::INITIALIZE => {
                self.is_done = true;
                Ok(())
            }
            method::PING | method::DISCOVER => Ok(()),
            _ if !self.is_done => refuse("Not initialized"),
            _ => Ok(()),
        }
    }
}

/// Whether the answer may take its time.
pub(super) fn is_slow(method_name: &str) -> bool {
    matches!(method_name, method::TOOLS_CALL | method::RESOURCES_READ)
}

/// Answers what needs no waiting.
pub(super) fn answer(server: &dyn Server, request: &Request) -> Rope {
    match fields(server, &request.call) {
        Ok(fields) => result(&request.id, &format!("{{{fields}}}")).into(),
        Err(why) => error(Some(&request.id), &why).into(),
    }
}

fn fields(server: &dyn Server, call: &MethodCall) -> Result<String, ErrorObject> {
    let resources = |list: &dyn Fn() -> String| server.resources().map(|_| list());
    let list = |field: &str, items: String| format!("\"{field}\":{items}{}", list_fields(call));
    match call.method() {
        method::INITIALIZE => Ok(introduction(server, call)),
        method::DISCOVER => Ok(discovery(server)),
        method::PING => Ok(String::new()),
        method::TOOLS_LIST => whole(call).map(|()| list("tools", server.tools())),
        method::RESOURCES_LIST => match server.resources() {
            Some(items) => whole(call).map(|()| list("resources", items)),
            None => Err(unknown_method(call)),
        },
        method::RESOURCE_TEMPLATES_LIST => match resources(&|| server.resource_templates()) {
            Some(items) => whole(call).map(|()| list("resourceTemplates", items)),
            None => Err(unknown_method(call)),
        },
        _ => Err(unknown_method(call)),
    }
}

fn unknown_method(call: &MethodCall) -> ErrorObject {
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{}`", call.method()))
}

/// Our lists have one page, so there are no cursors that we gave out.
fn whole(call: &MethodCall) -> Result<(), ErrorObject> {
    match call.param("cursor").map(|span| call.raw(span)) {
        None | Some("null") => Ok(()),
        Some(_) => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.cursor` is not valid")),
    }
}

/// Answers a call of a tool, or reads a resource.
pub(super) async fn slow_answer(server: &dyn Server, request: &Request, progress: Progress) -> Rope {
    let call = &request.call;
    let invalid = |why: &str| ErrorObject::new(ErrorCode::INVALID_PARAMS, why);
    let done = match (call.method(), call.params_text()) {
        (_, None) => Err(invalid("Missing params")),
        (method::TOOLS_CALL, Some(_)) => match call.string_param("name") {
            None => Err(invalid("Missing tool name")),
            Some(tool) => match arguments(call) {
                Ok(arguments) => server.call(Call { tool: &tool, arguments, progress }).await,
                Err(why) => Err(why),
            },
        },
        (_, Some(_)) if server.resources().is_none() => Err(unknown_method(call)),
        (_, Some(_)) => match call.string_param("uri") {
            None => Err(invalid("Missing uri")),
            Some(uri) => server.read(&uri).await,
        },
    };
    match done {
        Ok(text) if features(call).wants_result_type() => {
            let rest = text.strip_prefix('{').unwrap_or(&text).trim_start();
            let caching = match call.method() {
                method::RESOURCES_READ => ",\"ttlMs\":0,\"cacheScope\":\"private\"",
                _ => "",
            };
            let comma = if rest.starts_with('}') { "" } else { "," };
            result(&request.id, &format!("{{\"resultType\":\"complete\"{caching}{comma}{rest}")).into()
        }
        Ok(text) => result(&request.id, &text).into(),
        Err(why) => error(Some(&request.id), &in_words_of(call, why)).into(),
    }
}

/// The stateless era has no code of its own for a resource that is not there.
fn in_words_of(call: &MethodCall, why: ErrorObject) -> ErrorObject {
    if !features(call).has_resource_not_found() && why.code == ErrorCode::RESOURCE_NOT_FOUND {
        return ErrorObject { code: ErrorCode::INVALID_PARAMS, ..why };
    }
    why
}

fn arguments(call: &MethodCall) -> Result<&str, ErrorObject> {
    let arguments = call.param("arguments").map_or("{}", |span| call.raw(span));
    match arguments {
        "null" => Ok("{}"),
        object if object.starts_with('{') => Ok(object),
        _ => Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "`params.arguments` must be an object")),
    }
}

fn introduction(server: &dyn Server, call: &MethodCall) -> String {
    let asked = call.string_param("protocolVersion").and_then(|version| version.parse::<Revision>().ok());
    let revision =
        asked.filter(|revision| revision.features().has_sessions()).unwrap_or(Revision::LATEST_LEGACY);
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
    let resources = if server.resources().is_some() { "\"resources\":{}," } else { "" };
    let capabilities = format!("\"capabilities\":{{{resources}\"tools\":{{}}}}");
    match server.instructions() {
        Some(text) => format!("{capabilities},\"instructions\":{}", encode_string(text)),
        None => capabilities,
    }
}

fn info(server: &dyn Server) -> String {
    format!("{{\"name\":{},\"version\":\"{}\"}}", encode_string(server.name()), env!("CARGO_PKG_VERSION"))
}

/// The fields that a list has beside its items: `resultType` and the hints for caches, where the revision has them.
fn list_fields(call: &MethodCall) -> &'static str {
    match features(call).wants_result_type() {
        true => ",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"",
        false => "",
    }
}

/// What the revision of a request has. One that names its revision stands alone, and only modern requests do.
fn features(call: &MethodCall) -> ProtocolFeatures {
    let is_named = call.meta(meta::PROTOCOL_VERSION).is_some();
    let revision = if is_named { Revision::LATEST } else { Revision::LATEST_LEGACY };
    revision.features()
}
