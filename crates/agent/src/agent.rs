//! Calls to the servers of an engine.
//!
//! An [`Agent`] calls tools, reads resources and gets prompts. It has a name, handlers for requests of servers, and limits. Its
//! calls take the path of every other client, [`Host::dispatch`], with the same checks.

mod servers;

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use toolbay_host::{CatalogKind, Host, HostRequest, RouteTable, Routed, ServerStatus};
use toolbay_protocol::{
    ErrorCode, ServerName, method,
    model::{InvalidItem, Prompt, Resource, ResourceTemplate, Tool, list_items},
};

use crate::{
    CallOptions, CallToolResult, CompleteResult, Error, GetPromptResult, Handlers, OutputLimit,
    ReadResourceResult, ServerNotification,
    call::{CallEngine, CallObservers, CallSender, CallTarget, request},
    client::notifications::BEHIND,
    reload::ConfiguredServers,
};

/// Many servers, started and supervised, and the calls to them: [`Agent::builder`]. Clones are cheap and share the servers; to a
/// server, all calls of clones are calls of one client.
#[derive(Debug, Clone)]
pub struct Agent {
    host: Host,
    sender: Arc<CallSender>,
    limit: Arc<OutputLimit>,
    configured: Arc<ConfiguredServers>,
    /// Notifications in the middle of calls, for [`Server::notifications`](crate::Server::notifications).
    calls: CallObservers,
}

/// The subject of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionReference {
    /// An argument of a prompt, by its listed name.
    Prompt(String),
    /// A variable of a resource template, such as `file:///{path}`.
    Template(String),
}

impl CallTarget for Host {
    fn send(&self, request: HostRequest) -> Routed {
        self.dispatch(request)
    }

    fn tasks(&self) -> &tokio_util::task::TaskTracker {
        Host::tasks(self)
    }
}

impl Agent {
    /// Returns an agent that uses a running engine. To servers it is a client of its own.
    pub fn new(host: Host) -> Self {
        Self::with_parts(host, CallSender::new(), Arc::default())
    }

    pub(crate) fn with_parts(host: Host, sender: CallSender, configured: Arc<ConfiguredServers>) -> Self {
        let calls = CallObservers::new(BEHIND);
        let sender = Arc::new(sender.observed_by(calls.clone()));
        Self { host, sender, limit: Arc::default(), configured, calls }
    }

    /// Returns a view of this agent with another name and version, which modern servers see in each request.
    pub fn named(self, name: &str, version: &str) -> Self {
        self.changed(|sender| sender.named(name, version))
    }

    /// Returns a view of this agent that handles requests of servers in the middle of calls.
    pub fn handlers(self, handlers: Handlers) -> Self {
        self.changed(|sender| sender.with_handlers(handlers))
    }

    /// Returns a view of this agent with options for its calls.
    pub fn with(&self, options: CallOptions) -> Self {
        self.clone().changed(|sender| sender.with_options(options))
    }

    /// Returns a view of this agent whose tools truncate their output.
    pub fn output_limit(self, limit: OutputLimit) -> Self {
        Self { limit: Arc::new(limit), ..self }
    }

    /// The engine that it uses.
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn sender(&self) -> Arc<CallSender> {
        self.sender.clone()
    }

    /// The notifications in the middle of calls, from now on.
    pub(crate) fn observe_calls(&self) -> broadcast::Receiver<(ServerName, ServerNotification)> {
        self.calls.subscribe()
    }

    pub(crate) fn no_server(&self, name: &str) -> Error {
        let known = self.host.servers().iter().map(|server| server.name().to_string()).collect();
        Error::ServerNotFound { server: name.to_owned(), known }
    }

    pub(crate) fn limit(&self) -> &OutputLimit {
        &self.limit
    }

    fn changed(self, change: impl FnOnce(CallSender) -> CallSender) -> Self {
        let sender = change((*self.sender).clone());
        Self { sender: Arc::new(sender), ..self }
    }

    /// Calls a tool by its listed name. `arguments` is an object, or null for none.
    ///
    /// A tool that fails is a result with [`CallToolResult::is_error`]. So are arguments that do not match its schema, which never
    /// reach the server. If a server that is starting may have the tool, the call waits for it. Dropping the future cancels the
    /// call and notifies the server.
    ///
    /// # Errors
    ///
    /// When no server has such a tool, its server cannot be reached or returns an error, or the call times out.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        self.sender.within(name, self.call(name, arguments)).await
    }

    /// As [`Agent::call_tool`], by the server and the name that it uses itself.
    ///
    /// # Errors
    ///
    /// As [`Agent::call_tool`], and when there is no such server.
    pub async fn call_tool_on(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, Error> {
        let work = async {
            let name = self.listed_name(server, tool).await?;
            self.call(&name, arguments).await
        };
        self.sender.within(tool, work).await
    }

    /// Reads a resource of any server.
    ///
    /// # Errors
    ///
    /// When no server has it, or several could; `toolbay://<server>/<uri>` then names the server.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        let work = async {
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            self.wait_for_name(method::RESOURCES_READ, &params).await;
            let route = self.host.table().resource(uri).map_err(|candidates| Error::ResourceNotFound {
                uri: uri.to_owned(),
                candidates: candidates.iter().map(ServerName::to_string).collect(),
            })?;
            let server = route.server.name().clone();
            let result = self.request(&server, method::RESOURCES_READ, params).await?;
            ReadResourceResult::parse(&server, &result)
        };
        self.sender.within(uri, work).await
    }

    /// Gets a prompt by its listed name. `arguments` is an object of strings, or null for none.
    ///
    /// # Errors
    ///
    /// When no server has such a prompt, or its server returns an error.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Result<GetPromptResult, Error> {
        let work = async {
            let params = named_params(name, arguments)?;
            self.wait_for_name(method::PROMPTS_GET, &params).await;
            let server = self.server_of_prompt(name)?;
            let result = self.request(&server, method::PROMPTS_GET, params).await?;
            GetPromptResult::parse(&server, &result)
        };
        self.sender.within(name, work).await
    }

    /// Completes an argument of a prompt, or a variable of a resource template.
    ///
    /// # Errors
    ///
    /// When no server has the prompt or template, or its server has no completions.
    pub async fn complete(
        &self,
        reference: &CompletionReference,
        argument: &str,
        value: &str,
    ) -> Result<CompleteResult, Error> {
        let server = match reference {
            CompletionReference::Prompt(name) => self.server_of_prompt(name)?,
            CompletionReference::Template(template) => {
                let table = self.host.table();
                let route = table.template(template).ok_or_else(|| Error::ResourceNotFound {
                    uri: template.clone(),
                    candidates: Vec::new(),
                })?;
                route.server.name().clone()
            }
        };
        let params = reference.params(argument, value);
        let result = self.sender.within(argument, self.request(&server, method::COMPLETE, params)).await?;
        CompleteResult::parse(&server, &result)
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        let mut params = named_params(name, arguments)?;
        self.wait_for_name(method::TOOLS_CALL, &params).await;
        let (server, only_as_task) = self.server_of_tool(name)?;
        if only_as_task {
            params.insert("task".to_owned(), json!({}));
        }
        let result = self.request(&server, method::TOOLS_CALL, params).await?;
        CallToolResult::parse(&server, &result)
    }

    async fn request(
        &self,
        server: &ServerName,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<String, Error> {
        CallEngine { target: &self.host, sender: &self.sender, server: server.clone() }
            .run(method, params)
            .await
    }
}

impl Agent {
    /// The tools of all servers that are up, by their listed names.
    pub fn all_tools(&self) -> Vec<Tool> {
        items(&self.host().table(), CatalogKind::Tools, Tool::parse)
    }

    /// The resources of all servers that are up.
    pub fn all_resources(&self) -> Vec<Resource> {
        items(&self.host().table(), CatalogKind::Resources, Resource::parse)
    }

    /// The resource templates of all servers that are up.
    pub fn all_templates(&self) -> Vec<ResourceTemplate> {
        items(&self.host().table(), CatalogKind::ResourceTemplates, ResourceTemplate::parse)
    }

    /// The prompts of all servers that are up, by their listed names.
    pub fn all_prompts(&self) -> Vec<Prompt> {
        items(&self.host().table(), CatalogKind::Prompts, Prompt::parse)
    }
}

impl Agent {
    /// Waits for starting servers that may have what the request names.
    async fn wait_for_name(&self, method: &str, params: &Map<String, Value>) {
        if let Some(request) = request(method, params)
            && let Some(arrival) = self.host.arrival(&request)
        {
            arrival.await;
        }
    }

    /// The listed name of a tool of a server, after waiting for a server that is starting.
    async fn listed_name(&self, server: &str, tool: &str) -> Result<String, Error> {
        let find = || self.host.table().tool_of(server, tool).map(str::to_owned);
        if let Some(name) = find() {
            return Ok(name);
        }
        let handle = self.host.server(server).ok_or_else(|| self.no_server(server))?;
        self.host.settled_for_a_while(&[handle]).await;
        if let Some(name) = find() {
            return Ok(name);
        }
        Err(self.host.status(server).and_then(not_up).unwrap_or_else(|| Error::ToolNotFound {
            name: format!("{tool} of {server}"),
            similar: owned(&self.host.table().similar_tools(tool)),
        }))
    }

    fn server_of_prompt(&self, name: &str) -> Result<ServerName, Error> {
        let table = self.host.table();
        let route = table.prompt(name).ok_or_else(|| Error::PromptNotFound {
            name: name.to_owned(),
            similar: owned(&table.similar_prompts(name)),
        })?;
        Ok(route.server.name().clone())
    }

    /// The server that has a tool, and whether it runs it only as a task.
    fn server_of_tool(&self, name: &str) -> Result<(ServerName, bool), Error> {
        let table = self.host.table();
        if let Some(route) = table.tool(name) {
            return Ok((route.server.name().clone(), route.only_as_task));
        }
        let server = name.split_once("__").and_then(|(slug, _)| self.host.by_slug(slug));
        let status = server.and_then(|server| self.host.status(server.name().as_str()));
        if let Some(error) = status.and_then(not_up) {
            return Err(error);
        }
        Err(match self.host.absence(name) {
            // The server has it, but it cannot be offered.
            Some(why) => Error::Refused { code: ErrorCode::INVALID_PARAMS, message: why.to_string() },
            None => Error::ToolNotFound { name: name.to_owned(), similar: owned(&table.similar_tools(name)) },
        })
    }
}

impl CompletionReference {
    pub(crate) fn params(&self, argument: &str, value: &str) -> Map<String, Value> {
        let reference = match self {
            Self::Prompt(name) => json!({ "type": "ref/prompt", "name": name }),
            Self::Template(uri) => json!({ "type": "ref/resource", "uri": uri }),
        };
        let argument = json!({ "name": argument, "value": value });
        Map::from_iter([("ref".to_owned(), reference), ("argument".to_owned(), argument)])
    }
}

/// `params` with a name and arguments.
pub(crate) fn named_params(name: &str, arguments: Value) -> Result<Map<String, Value>, Error> {
    let arguments = match arguments {
        Value::Null => json!({}),
        Value::Object(_) => arguments,
        other => {
            let message = format!("the arguments of `{name}` must be an object, not {other}");
            return Err(Error::Refused { code: ErrorCode::INVALID_PARAMS, message });
        }
    };
    Ok(Map::from_iter([("name".to_owned(), json!(name)), ("arguments".to_owned(), arguments)]))
}

/// All items of a list, over all its pages. The table has only items that can be read.
fn items<T>(table: &RouteTable, kind: CatalogKind, read: impl Fn(Bytes) -> Result<T, InvalidItem>) -> Vec<T> {
    let mut all = Vec::new();
    let mut cursor = None;
    while let Some((page, next)) = table.page(kind, cursor.as_deref()) {
        all.extend(list_items(page).unwrap_or_default().into_iter().filter_map(|item| read(item).ok()));
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    all
}

/// Why a server has no tools, if it is down.
pub(crate) fn not_up(status: ServerStatus) -> Option<Error> {
    let ServerStatus { name: server, state, .. } = status;
    match state.failure().cloned() {
        Some(failure) => Some(Error::Init { server, failure }),
        None if !state.is_offered() => Some(Error::NotRunning { server, state }),
        None => None,
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
