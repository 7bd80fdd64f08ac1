//! One server, called by the names that it uses itself.
//!
//! [`Client`](crate::Client) and [`Server`](crate::Server) have the same requests; both send them through a [`Peer`].

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio_util::task::TaskTracker;
use toolbay_host::{HostRequest, Routed};
use toolbay_protocol::{
    ErrorCode, Revision, method,
    model::{InvalidItem, Item, list_items},
};
use toolbay_upstream::{
    Call, Catalog, CatalogKind, ResourceSubscription, ServerHandle, SubscribeError, UpstreamStatus,
};

use crate::{
    CallToolResult, CompleteResult, CompletionReference, Error, GetPromptResult, ReadResourceResult,
    agent::named_params,
    call::{CallEngine, CallSender, CallTarget},
};

/// A server with more pages than this has no end.
const MAX_PAGES: usize = 100;

/// What a server says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of MCP that is spoken with it.
    pub revision: Option<Revision>,
    /// Its instructions for models.
    pub instructions: Option<String>,
    /// Its capabilities, as declared.
    pub capabilities: Value,
    /// All of `serverInfo`, as the server wrote it.
    pub raw: Value,
}

impl ServerInfo {
    pub(crate) fn of(catalog: &Catalog, revision: Option<Revision>) -> Self {
        let read = |text: &Option<String>| -> Value {
            text.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        let raw = read(&catalog.server_info);
        let text = |field: &str| raw[field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            version: text("version"),
            revision,
            instructions: catalog.instructions.clone(),
            capabilities: read(&catalog.capabilities),
            raw,
        }
    }
}

/// A way to one server that goes through no router.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) handle: ServerHandle,
    /// For what must be done after its caller went away.
    pub(crate) tasks: TaskTracker,
    pub(crate) sender: Arc<CallSender>,
}

impl CallTarget for Peer {
    fn send(&self, request: HostRequest) -> Routed {
        let HostRequest { request, caller, events, resumes: _ } = request;
        let only_as_task = request.call.param("task").is_some();
        Routed::Sent(self.handle.call(Call {
            request,
            caller,
            renamed: Default::default(),
            events,
            only_as_task,
            timeouts: None,
        }))
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }
}

impl Peer {
    pub(crate) fn status(&self) -> UpstreamStatus {
        self.handle.status().borrow().clone()
    }

    pub(crate) async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        let mut params = named_params(name, arguments)?;
        if self.only_as_task(name) {
            params.insert("task".to_owned(), json!({}));
        }
        let result = self.send_request(name, method::TOOLS_CALL, params).await?;
        CallToolResult::parse(self.handle.name(), &result)
    }

    pub(crate) async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
        let result = self.send_request(uri, method::RESOURCES_READ, params).await?;
        ReadResourceResult::parse(self.handle.name(), &result)
    }

    pub(crate) async fn get_prompt(&self, name: &str, arguments: Value) -> Result<GetPromptResult, Error> {
        let result = self.send_request(name, method::PROMPTS_GET, named_params(name, arguments)?).await?;
        GetPromptResult::parse(self.handle.name(), &result)
    }

    pub(crate) async fn complete(
        &self,
        reference: &CompletionReference,
        argument: &str,
        value: &str,
    ) -> Result<CompleteResult, Error> {
        let params = reference.params(argument, value);
        let result = self.send_request(argument, method::COMPLETE, params).await?;
        CompleteResult::parse(self.handle.name(), &result)
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        // Modern revisions have no ping; a server that describes itself is there.
        let has_ping = self.status().revision.is_none_or(|revision| revision.features().has_ping());
        let method = if has_ping { method::PING } else { method::DISCOVER };
        self.send_request(method, method, Map::new()).await.map(drop)
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value, Error> {
        let params = match params {
            Value::Null => Map::new(),
            Value::Object(params) => params,
            other => {
                let message = format!("the parameters of `{method}` must be an object, not {other}");
                return Err(Error::Refused { code: ErrorCode::INVALID_PARAMS, message });
            }
        };
        let result = self.send_request(method, method, params).await?;
        serde_json::from_str(&result).map_err(|error| Error::protocol(self.handle.name(), error))
    }

    pub(crate) async fn watch(&self, uri: &str) -> Result<ResourceSubscription, Error> {
        let server = self.handle.name();
        self.handle.watch(uri).await.map_err(|why| match why {
            SubscribeError::Refused(error) => Error::from_response(server, *error),
            SubscribeError::Down(error) => error.into(),
            why => Error::Server {
                server: server.clone(),
                code: ErrorCode::METHOD_NOT_FOUND,
                message: format!("cannot subscribe to `{uri}`: {why}"),
                data: None,
            },
        })
    }

    /// Requests a list, over all its pages.
    pub(crate) async fn list<T>(
        &self,
        kind: CatalogKind,
        read: impl Fn(Bytes) -> Result<T, InvalidItem>,
    ) -> Result<Vec<T>, Error> {
        let server = self.handle.name().clone();
        let engine = CallEngine { target: self, sender: &self.sender, server: server.clone() };
        let unusable = |reason: String| Error::protocol(&server, format!("{}: {reason}", kind.list_method()));
        let work = async {
            let (mut all, mut params) = (Vec::new(), Map::new());
            for _ in 0..MAX_PAGES {
                let result = engine.run(kind.list_method(), params).await?;
                let page = Item::parse(result.into()).map_err(|error| unusable(error.to_string()))?;
                let list = page.span(kind.field()).map(|span| page.text().slice(span.range()));
                let list = list.ok_or_else(|| unusable("there is no list in it".into()))?;
                for item in list_items(&list).map_err(|error| unusable(error.to_string()))? {
                    all.push(read(item).map_err(|error| unusable(error.to_string()))?);
                }
                match page.string("nextCursor") {
                    Some(cursor) => params = Map::from_iter([("cursor".to_owned(), json!(cursor))]),
                    None => return Ok(all),
                }
            }
            Err(unusable(format!("it has more than {MAX_PAGES} pages")))
        };
        self.sender.within(kind.list_method(), work).await
    }

    /// Whether the server runs that tool only as a task of 2025-11-25.
    fn only_as_task(&self, name: &str) -> bool {
        let catalog = self.status().catalog;
        let declared = catalog.capabilities.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let has_tasks = declared.is_some_and(|declared: Value| {
            declared.pointer("/tasks/requests/tools/call").is_some_and(Value::is_object)
        });
        has_tasks
            && items(&catalog, CatalogKind::Tools, toolbay_protocol::model::Tool::parse).iter().any(|tool| {
                let execution = tool.item().raw("execution").and_then(|text| serde_json::from_str(text).ok());
                tool.name() == name && execution.unwrap_or(Value::Null)["taskSupport"] == "required"
            })
    }

    /// Sends a request; `what` names it in errors.
    async fn send_request(
        &self,
        what: &str,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<String, Error> {
        let engine = CallEngine { target: self, sender: &self.sender, server: self.handle.name().clone() };
        self.sender.within(what, engine.run(method, params)).await
    }
}

/// The items of a catalog as they were listed last.
pub(crate) fn items<T>(
    catalog: &Catalog,
    kind: CatalogKind,
    read: impl Fn(Bytes) -> Result<T, InvalidItem>,
) -> Vec<T> {
    catalog.list(kind).iter().filter_map(|item| read(item.clone()).ok()).collect()
}

/// The requests of a type that has `fn peer(&self) -> Result<Peer, Error>`.
macro_rules! peer_requests {
    ($type:ident) => {
        impl $type {
            /// Reads a resource.
            ///
            /// # Errors
            ///
            /// When the server cannot be reached, or does not have it.
            pub async fn read_resource(&self, uri: &str) -> Result<crate::ReadResourceResult, crate::Error> {
                self.peer()?.read_resource(uri).await
            }

            /// Gets a prompt. `arguments` is an object of strings, or null for none.
            ///
            /// # Errors
            ///
            /// When the server cannot be reached, or does not have it.
            pub async fn get_prompt(
                &self,
                name: &str,
                arguments: serde_json::Value,
            ) -> Result<crate::GetPromptResult, crate::Error> {
                self.peer()?.get_prompt(name, arguments).await
            }

            /// Completes an argument of a prompt, or a variable of a resource template, that begins with `value`.
            ///
            /// # Errors
            ///
            /// When the server cannot be reached, or has no completions.
            pub async fn complete(
                &self,
                reference: &crate::CompletionReference,
                argument: &str,
                value: &str,
            ) -> Result<crate::CompleteResult, crate::Error> {
                self.peer()?.complete(reference, argument, value).await
            }

            /// Checks that the server responds.
            ///
            /// # Errors
            ///
            /// When it does not.
            pub async fn ping(&self) -> Result<(), crate::Error> {
                self.peer()?.ping().await
            }

            /// Sends any request and returns its result, for methods that have no function here.
            ///
            /// # Errors
            ///
            /// When `params` are neither an object nor null, or as for all requests.
            pub async fn request(
                &self,
                method: &str,
                params: serde_json::Value,
            ) -> Result<serde_json::Value, crate::Error> {
                self.peer()?.request(method, params).await
            }

            /// Subscribes to a resource until the subscription is dropped. Updates arrive with the notifications.
            ///
            /// # Errors
            ///
            /// When the server has no subscriptions, or cannot be reached.
            pub async fn subscribe(
                &self,
                uri: &str,
            ) -> Result<toolbay_upstream::ResourceSubscription, crate::Error> {
                self.peer()?.watch(uri).await
            }

            /// Requests the tools of the server, over all pages.
            ///
            /// # Errors
            ///
            /// When the server does not respond with such a list; the same holds for the other lists.
            pub async fn list_tools(&self) -> Result<Vec<crate::model::ToolDefinition>, crate::Error> {
                self.peer()?
                    .list(toolbay_upstream::CatalogKind::Tools, crate::model::ToolDefinition::parse)
                    .await
            }

            /// Requests the resources of the server.
            ///
            /// # Errors
            ///
            /// As for the tools.
            pub async fn list_resources(&self) -> Result<Vec<crate::model::Resource>, crate::Error> {
                self.peer()?
                    .list(toolbay_upstream::CatalogKind::Resources, crate::model::Resource::parse)
                    .await
            }

            /// Requests the resource templates of the server.
            ///
            /// # Errors
            ///
            /// As for the tools.
            pub async fn list_resource_templates(
                &self,
            ) -> Result<Vec<crate::model::ResourceTemplate>, crate::Error> {
                let kind = toolbay_upstream::CatalogKind::ResourceTemplates;
                self.peer()?.list(kind, crate::model::ResourceTemplate::parse).await
            }

            /// Requests the prompts of the server.
            ///
            /// # Errors
            ///
            /// As for the tools.
            pub async fn list_prompts(&self) -> Result<Vec<crate::model::Prompt>, crate::Error> {
                self.peer()?.list(toolbay_upstream::CatalogKind::Prompts, crate::model::Prompt::parse).await
            }

            /// The tools as they were listed last, without a request. They are kept up to date while the server announces
            /// changes; the same holds for the other lists.
            pub fn tools(&self) -> Vec<crate::model::ToolDefinition> {
                self.items(toolbay_upstream::CatalogKind::Tools, crate::model::ToolDefinition::parse)
            }

            /// The resources as they were listed last.
            pub fn resources(&self) -> Vec<crate::model::Resource> {
                self.items(toolbay_upstream::CatalogKind::Resources, crate::model::Resource::parse)
            }

            /// The resource templates as they were listed last.
            pub fn resource_templates(&self) -> Vec<crate::model::ResourceTemplate> {
                let kind = toolbay_upstream::CatalogKind::ResourceTemplates;
                self.items(kind, crate::model::ResourceTemplate::parse)
            }

            /// The prompts as they were listed last.
            pub fn prompts(&self) -> Vec<crate::model::Prompt> {
                self.items(toolbay_upstream::CatalogKind::Prompts, crate::model::Prompt::parse)
            }

            fn items<T>(
                &self,
                kind: toolbay_upstream::CatalogKind,
                read: impl Fn(bytes::Bytes) -> Result<T, toolbay_protocol::model::InvalidItem>,
            ) -> Vec<T> {
                let catalog = self.peer().map(|peer| peer.status().catalog).unwrap_or_default();
                crate::peer::items(&catalog, kind, read)
            }
        }
    };
}
pub(crate) use peer_requests;
