//! The methods: what each request is answered with.

use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, ObjectBuilder, ProtocolFeatures, Request, Revision, Rope, error,
    meta, method, result,
};

use crate::{Call, Progress, Server, changes::Subscriptions, roots::RootsReader};

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

/// Whether the method runs code of the server, and so may take long.
pub(super) fn is_slow(method_name: &str) -> bool {
    matches!(method_name, method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET)
}

/// Whether the method is about changes that the client wants to know.
pub(super) fn is_subscription(method_name: &str) -> bool {
    matches!(method_name, method::LISTEN | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE)
}

/// Responds to a request that needs no waiting.
pub(super) fn answer(server: &dyn Server, request: &Request) -> Rope {
    match quick_result(server, &request.call) {
        Ok(object) => result(&request.id, &object.finish()).into(),
        Err(why) => error(Some(&request.id), &why).into(),
    }
}

fn quick_result(server: &dyn Server, call: &MethodCall) -> Result<ObjectBuilder, ErrorObject> {
    let resources = |list: &dyn Fn() -> String| server.resources().map(|_| list());
    let list = |field: &str, items: String| {
        let result = ObjectBuilder::with_capacity(items.len() + 96).raw(field, &items);
        match features(call).wants_result_type() {
            true => not_cacheable(result.string("resultType", "complete")),
            false => result,
        }
    };
    match call.method() {
        method::INITIALIZE => Ok(initialize_result(server, call)),
        method::DISCOVER => Ok(discovery(server)),
        method::PING => Ok(ObjectBuilder::new()),
        method::TOOLS_LIST => whole(call).map(|()| list("tools", server.tools())),
        method::RESOURCES_LIST => match server.resources() {
            Some(items) => whole(call).map(|()| list("resources", items)),
            None => Err(unknown_method(call)),
        },
        method::PROMPTS_LIST => match server.prompts() {
            Some(items) => whole(call).map(|()| list("prompts", items)),
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

/// Changes what the client is subscribed to, and responds.
pub(super) fn subscribe(subscriptions: &mut Subscriptions, request: &Request) -> Rope {
    let call = &request.call;
    let uri = || {
        let missing = || ErrorObject::new(ErrorCode::INVALID_PARAMS, "Missing uri");
        call.string_param("uri").ok_or_else(missing)
    };
    let done = match call.method() {
        method::LISTEN if features(call).has_listen() => {
            return match subscriptions.listen(request) {
                Ok(acknowledgment) => acknowledgment,
                Err(why) => error(Some(&request.id), &why).into(),
            };
        }
        method::RESOURCES_SUBSCRIBE if !features(call).has_listen() => {
            uri().and_then(|uri| subscriptions.subscribe(&uri))
        }
        method::RESOURCES_UNSUBSCRIBE if !features(call).has_listen() => {
            uri().map(|uri| subscriptions.unsubscribe(&uri))
        }
        _ => Err(unknown_method(call)),
    };
    match done {
        Ok(()) => result(&request.id, "{}").into(),
        Err(why) => error(Some(&request.id), &why).into(),
    }
}

/// Calls a tool, reads a resource or makes a prompt, and responds.
pub(super) async fn slow_answer(
    server: &dyn Server,
    request: &Request,
    progress: Progress,
    roots: RootsReader,
) -> Rope {
    let call = &request.call;
    let invalid = |why: &str| ErrorObject::new(ErrorCode::INVALID_PARAMS, why);
    let done = match (call.method(), call.params_text()) {
        (_, None) => Err(invalid("Missing params")),
        (method::TOOLS_CALL, Some(_)) => match call.string_param("name") {
            None => Err(invalid("Missing tool name")),
            Some(tool) => match arguments(call) {
                Ok(arguments) => {
                    let roots = if features(call).has_sessions() { roots.read().await } else { None };
                    server.call(Call { tool: &tool, arguments, progress, roots }).await
                }
                Err(why) => Err(why),
            },
        },
        (method::PROMPTS_GET, Some(_)) if server.prompts().is_none() => Err(unknown_method(call)),
        (method::PROMPTS_GET, Some(_)) => match call.string_param("name") {
            None => Err(invalid("Missing prompt name")),
            Some(prompt) => match arguments(call) {
                Ok(arguments) => server.prompt(&prompt, arguments).await,
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
            let mut object = ObjectBuilder::with_capacity(text.len() + 64).string("resultType", "complete");
            if call.method() == method::RESOURCES_READ {
                object = not_cacheable(object);
            }
            result(&request.id, &object.fields_of(&text).finish()).into()
        }
        Ok(text) => result(&request.id, &text).into(),
        Err(why) => error(Some(&request.id), &for_revision_of(call, why)).into(),
    }
}

/// Modern revisions have no code of their own for a resource that does not exist.
fn for_revision_of(call: &MethodCall, why: ErrorObject) -> ErrorObject {
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

fn initialize_result(server: &dyn Server, call: &MethodCall) -> ObjectBuilder {
    let wanted = call.string_param("protocolVersion").and_then(|version| version.parse::<Revision>().ok());
    let revision =
        wanted.filter(|revision| revision.features().has_sessions()).unwrap_or(Revision::LATEST_LEGACY);
    let result = ObjectBuilder::new().string("protocolVersion", revision.as_str());
    capabilities_and_instructions(result, server).raw("serverInfo", &info(server))
}

fn discovery(server: &dyn Server) -> ObjectBuilder {
    let versions: Vec<&str> = Revision::ALL.into_iter().rev().map(Revision::as_str).collect();
    let result = ObjectBuilder::new().string("resultType", "complete").value("supportedVersions", &versions);
    let meta = ObjectBuilder::new().raw(meta::SERVER_INFO, &info(server));
    not_cacheable(capabilities_and_instructions(result, server)).raw("_meta", &meta.finish())
}

fn capabilities_and_instructions(result: ObjectBuilder, server: &dyn Server) -> ObjectBuilder {
    let (tools, resources) = match server.changes() {
        Some(_) => (r#"{"listChanged":true}"#, r#"{"listChanged":true,"subscribe":true}"#),
        None => ("{}", "{}"),
    };
    let mut capabilities = ObjectBuilder::new();
    if server.prompts().is_some() {
        capabilities = capabilities.raw("prompts", "{}");
    }
    if server.resources().is_some() {
        capabilities = capabilities.raw("resources", resources);
    }
    let result = result.raw("capabilities", &capabilities.raw("tools", tools).finish());
    match server.instructions() {
        Some(text) => result.string("instructions", text),
        None => result,
    }
}

fn info(server: &dyn Server) -> String {
    ObjectBuilder::new().string("name", server.name()).string("version", env!("CARGO_PKG_VERSION")).finish()
}

/// Adds the hints that nothing of a result may be cached.
fn not_cacheable(result: ObjectBuilder) -> ObjectBuilder {
    result.raw("ttlMs", "0").string("cacheScope", "private")
}

/// What the revision of a request has. One that names its revision stands alone, and only modern requests do.
fn features(call: &MethodCall) -> ProtocolFeatures {
    let is_named = call.meta(meta::PROTOCOL_VERSION).is_some();
    let revision = if is_named { Revision::LATEST } else { Revision::LATEST_LEGACY };
    revision.features()
}
