//! Requests that the gateway answers itself, from memory.

use serde_json::{Map, Value, json};
use toolbay_access::Access;
use toolbay_host::{CacheHints, CatalogKind, Host, HubsBehind, list_page};
use toolbay_policy::Exposure;
use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, Request, Revision, UnknownLogLevel, meta, method,
};
use toolbay_translate::tools_for;

use crate::{
    error,
    gateway::Gateway,
    hub_tools::exposure::{Listing, client_name},
    request::{call::complete, client::RequestClient},
    tasks::TaskProtocol as Tasks,
};

/// What a request of our own comes to: a result as JSON text, or an error.
pub(crate) type LocalResult = Result<String, ErrorObject>;

impl Gateway {
    /// Answers a request that needs no server; nothing when it needs one.
    pub(crate) fn known(&self, client: &RequestClient, request: &Request) -> Option<LocalResult> {
        let call = &request.call;
        let features = client.revision.features();
        Some(match call.method() {
            method::TOOLS_LIST => self.list(client, call, CatalogKind::Tools),
            method::RESOURCES_LIST => self.list(client, call, CatalogKind::Resources),
            method::RESOURCE_TEMPLATES_LIST => self.list(client, call, CatalogKind::ResourceTemplates),
            method::PROMPTS_LIST => self.list(client, call, CatalogKind::Prompts),
            method::DISCOVER if features.has_discover() => Ok(self.discovery(client, call)),
            method::PING if features.has_ping() => Ok("{}".to_owned()),
            method::SET_LEVEL if features.has_set_level() => set_level(client, call),
            method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET | method::COMPLETE => {
                return None;
            }
            other if Tasks::of(client.revision).is_some_and(|tasks| tasks.has_method(other)) => {
                if !features.has_task_extension() || client.has_tasks() {
                    return None;
                }
                Err(error::needs_tasks())
            }
            other => Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{other}`"))),
        })
    }

    /// The result of `initialize`, for a client that will speak `revision`, on a connection that may have an exposure of its own.
    pub(crate) fn initialize_result(
        &self,
        access: &Access,
        revision: Revision,
        call: &MethodCall,
        exposure: Option<Exposure>,
    ) -> String {
        let host = &self.host_for(access);
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": self.capabilities(host, revision),
            "serverInfo": self.server_info(),
        });
        if let Some(hubs) = hubs(host, call) {
            result["_meta"] = json!({ meta::HUBS: hubs });
        }
        let info = call.param("clientInfo").map(|info| call.raw(info));
        let client = info.and_then(client_name);
        let listing = self.exposure_of(access).listing(host, client.as_deref(), exposure);
        self.log_listing(host, access, &listing, client.as_deref());
        if let Some(instructions) = self.instructions(host, access, &listing) {
            result["instructions"] = instructions.into();
        }
        result.to_string()
    }

    fn discovery(&self, client: &RequestClient, call: &MethodCall) -> String {
        let host = &client.host;
        let (ttl, scope) = caching(host.identity_hints());
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": error::supported_versions(),
            "capabilities": self.capabilities(host, Revision::LATEST),
            "ttlMs": ttl,
            "cacheScope": scope,
            "_meta": { meta::SERVER_INFO: self.server_info() },
        });
        if let Some(hubs) = hubs(host, call) {
            result["_meta"][meta::HUBS] = json!(hubs);
        }
        let listing = self.listing_for(client);
        self.log_listing(host, &client.access, &listing, None);
        if let Some(instructions) = self.instructions(host, &client.access, &listing) {
            result["instructions"] = instructions.into();
        }
        result.to_string()
    }

    fn list(&self, client: &RequestClient, call: &MethodCall, kind: CatalogKind) -> LocalResult {
        let cursor = match call.param("cursor") {
            None => None,
            Some(span) if call.raw(span) == "null" => None,
            Some(_) => Some(call.string_param("cursor").ok_or_else(|| bad_cursor("it is not a string"))?),
        };
        let table = client.host.table();
        // Only modern clients know what an invalid `x-mcp-header` is.
        let own = (kind == CatalogKind::Tools).then(|| self.tools_for(client, &table)).flatten();
        let page = match client.revision.features().has_mirrored_headers() && client.is_on_http {
            _ if let Some(own) = &own => own.get(cursor.as_deref(), table.version(kind)),
            true => table.page_on_http(kind, cursor.as_deref()),
            false => table.page(kind, cursor.as_deref()),
        };
        let Some((page, next)) = page else {
            return Err(bad_cursor("it is invalid, or the list has changed; start again without it"));
        };
        if let Some(session) = &client.session {
            session.saw(kind, table.version(kind));
        }
        let page = match (kind, client.schema_view(self)) {
            (CatalogKind::Tools, None) => tools_for(page, client.revision),
            (CatalogKind::Tools, Some(view)) => tools_for(&table.in_view(page, view), client.revision),
            _ => page.clone(),
        };
        // Read for every client: a list that is no longer fresh is requested again.
        let hints = client.host.list_hints(kind);
        let mut result = list_page(kind.field(), &page, next.as_deref());
        let mut about = json!({});
        if client.revision.features().has_cache_hints() {
            let (ttl, scope) = caching(hints);
            result = result.value("ttlMs", &ttl).string("cacheScope", scope);
        }
        if client.revision.features().has_server_info_in_results() {
            about[meta::SERVER_INFO] = self.server_info();
        }
        if let Some(hubs) = hubs(&client.host, call) {
            about[meta::HUBS] = json!(hubs);
        }
        if about != json!({}) {
            result = result.value("_meta", &about);
        }
        Ok(complete(&result.finish(), client.revision))
    }

    fn capabilities(&self, host: &Host, revision: Revision) -> Value {
        match &self.options.identity {
            Some(identity) => identity.capabilities.clone(),
            None => capabilities(host, revision),
        }
    }

    fn server_info(&self) -> Value {
        if let Some(identity) = &self.options.identity {
            return identity.server_info.clone();
        }
        json!({ "name": "toolbay", "title": "Toolbay", "version": self.options.version })
    }

    /// What the profile says, what is not listed, and what the servers that are up tell models about themselves.
    fn instructions(&self, host: &Host, access: &Access, listing: &Listing) -> Option<String> {
        if let Some(identity) = &self.options.identity {
            return identity.instructions.clone();
        }
        let of_profile = self.profile(access).and_then(|profile| profile.instructions.clone());
        let statuses = host.statuses();
        let of_servers = statuses.iter().filter(|server| server.state.is_offered()).filter_map(|server| {
            let instructions = server.catalog.instructions.as_ref()?;
            Some(section(server.name.as_str(), instructions))
        });
        let catalog_lines = self.catalog_lines(host, access, listing);
        let parts: Vec<String> = of_profile.into_iter().chain(catalog_lines).chain(of_servers).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

/// The hubs that this one consists of, for another hub that wants to know them.
fn hubs(host: &Host, call: &MethodCall) -> Option<HubsBehind> {
    call.meta(meta::VIA).and_then(|_| host.hubs())
}

/// What a server tells models, quoted: whatever is in it, it is what this server says.
fn section(server: &str, instructions: &str) -> String {
    let mut section = format!("# {server}\n");
    for line in instructions.trim_end().lines() {
        section.push_str(if line.is_empty() { "\n>" } else { "\n> " });
        section.push_str(line);
    }
    section
}

fn set_level(client: &RequestClient, call: &MethodCall) -> LocalResult {
    let level = call.string_param("level").unwrap_or_default().parse().map_err(|unknown| {
        let unknown: UnknownLogLevel = unknown;
        ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`level`: {unknown}"))
    })?;
    if let Some(session) = &client.session {
        session.set_log_level(level);
    }
    Ok("{}".to_owned())
}

/// Hints as they are written: milliseconds, and who may keep it.
fn caching(hints: CacheHints) -> (u64, &'static str) {
    let ttl = hints.ttl.map_or(u64::MAX, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
    (ttl, if hints.is_public { "public" } else { "private" })
}

fn bad_cursor(why: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`cursor` cannot be used: {why}"))
}

/// The capabilities of the hub for a revision. Servers come and go, so those of the core are always declared; of
/// extensions and tasks, those that a running server declares.
pub(crate) fn capabilities(host: &Host, revision: Revision) -> Value {
    let mut all = json!({
        "tools": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
    });
    let (mut extensions, mut has_tasks) = (Map::new(), false);
    let features = revision.features();
    for (declared, spoken) in declared(host) {
        let spoken = spoken.features();
        for (name, settings) in declared["extensions"].as_object().into_iter().flatten() {
            let fits = name != meta::TASKS_EXTENSION
                || (spoken.has_task_extension() && features.has_task_extension());
            if fits && !extensions.contains_key(name) {
                extensions.insert(name.clone(), settings.clone());
            }
        }
        has_tasks |=
            spoken.has_experimental_tasks() && declared["tasks"]["requests"]["tools"]["call"].is_object();
    }
    if !extensions.is_empty() {
        all["extensions"] = extensions.into();
    }
    if has_tasks && features.has_experimental_tasks() {
        all["tasks"] = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    all
}

/// The capabilities of every server that is up, or will be in a moment, and the revision it speaks.
fn declared(host: &Host) -> Vec<(Value, Revision)> {
    let of = |status: &toolbay_host::UpstreamStatus| {
        if status.state.is_down() {
            return None;
        }
        let declared = serde_json::from_str(status.catalog.capabilities.as_deref()?).ok()?;
        Some((declared, status.revision?))
    };
    host.servers().iter().filter_map(|server| of(&server.status().borrow())).collect()
}
