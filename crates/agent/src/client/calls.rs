//! What a client asks its server.

use bytes::Bytes;
use serde_json::{Map, Value, json};
use toolbay_protocol::{
    ErrorCode, method,
    model::{InvalidItem, Item, Prompt, Resource, ResourceTemplate, Tool, list_items},
};
use toolbay_upstream::{CatalogKind, ResourceSubscription, SubscribeError};

use super::Client;
use crate::{
    CallToolResult, CompleteResult, CompletionReference, Error, GetPromptResult, ReadResourceResult,
    agent::named_params, call::CallEngine,
};

/// A server with more pages than this has no end.
const MAX_PAGES: usize = 100;

impl Client {
    /// Calls a tool. `arguments` is an object, or null for none. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or answers with an error. A tool that fails is a result all the same.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> Result<CallToolResult, Error> {
        let mut params = named_params(name, arguments)?;
        if self.only_as_task(name) {
            params.insert("task".to_owned(), json!({}));
        }
        let result = self.send_request(name, method::TOOLS_CALL, params).await?;
        CallToolResult::parse(&self.shared.name, &result)
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not have it.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, Error> {
        let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
        let result = self.send_request(uri, method::RESOURCES_READ, params).await?;
        ReadResourceResult::parse(&self.shared.name, &result)
    }

    /// Gets a prompt. `arguments` is an object of strings, or null for none.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or does not have it.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Result<GetPromptResult, Error> {
        let result = self.send_request(name, method::PROMPTS_GET, named_params(name, arguments)?).await?;
        GetPromptResult::parse(&self.shared.name, &result)
    }

    /// Asks how an argument of a prompt, or a variable of a resource template, may go on.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached, or completes nothing.
    pub async fn complete(
        &self,
        what: &CompletionReference,
        argument: &str,
        begun: &str,
    ) -> Result<CompleteResult, Error> {
        let result = self.send_request(argument, method::COMPLETE, what.params(argument, begun)).await?;
        CompleteResult::parse(&self.shared.name, &result)
    }

    /// Asks the server whether it is there.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub async fn ping(&self) -> Result<(), Error> {
        // The stateless era has no ping; whoever introduces itself is there.
        let revision = self.status().and_then(|status| status.revision);
        let has_ping = revision.is_none_or(|revision| revision.features().has_ping());
        let asked = if has_ping { method::PING } else { method::DISCOVER };
        self.send_request(asked, asked, Map::new()).await.map(drop)
    }

    /// Sends any request, for what has no method here; gives the result.
    ///
    /// # Errors
    ///
    /// When `params` are neither an object nor null, or as for all requests.
    pub async fn request(&self, asked: &str, params: Value) -> Result<Value, Error> {
        let params = match params {
            Value::Null => Map::new(),
            Value::Object(params) => params,
            other => {
                let message = format!("the parameters of `{asked}` must be an object, not {other}");
                return Err(Error::Refused { code: ErrorCode::INVALID_PARAMS, message });
            }
        };
        let result = self.send_request(asked, asked, params).await?;
        serde_json::from_str(&result).map_err(|error| Error::protocol(&self.shared.name, error))
    }

    /// Watches a resource for as long as the interest is kept; changes come as [`Client::notifications`].
    ///
    /// # Errors
    ///
    /// When the server does not tell of changes, or is not there.
    pub async fn watch(&self, uri: &str) -> Result<ResourceSubscription, Error> {
        let running = self.running()?;
        let server = running.handle.name();
        running.handle.watch(uri).await.map_err(|why| match why {
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

    /// Whether the server does that only as a task of 2025-11-25.
    fn only_as_task(&self, name: &str) -> bool {
        let has_tasks = self.capabilities().is_some_and(|declared| {
            declared.pointer("/tasks/requests/tools/call").is_some_and(Value::is_object)
        });
        has_tasks
            && self.cached_tools().iter().any(|tool| {
                let execution = tool.item().raw("execution").and_then(|text| serde_json::from_str(text).ok());
                tool.name() == name && execution.unwrap_or(Value::Null)["taskSupport"] == "required"
            })
    }

    /// Sends a request; `what` is for people.
    async fn send_request(
        &self,
        what: &str,
        asked: &str,
        params: Map<String, Value>,
    ) -> Result<String, Error> {
        let running = self.running()?;
        let exchange = CallEngine { line: &*running, sender: &self.sender, server: self.shared.name.clone() };
        self.sender.within(what, exchange.run(asked, params)).await
    }
}

/// Both ways to a list: asking the server, and what is known already.
macro_rules! lists {
    ($($list:ident, $cached:ident, $item:ident, $kind:ident, $what:literal;)*) => {
        impl Client {
            $(
                #[doc = concat!("Asks the server for its ", $what, ", over all pages.")]
                ///
                /// # Errors
                ///
                /// When the server does not answer, or with something that is no such list.
                pub async fn $list(&self) -> Result<Vec<$item>, Error> {
                    self.list(CatalogKind::$kind, $item::parse).await
                }

                #[doc = concat!("The server's ", $what, " as they were listed last. They are kept up to date for as long as")]
                /// the server announces changes.
                pub fn $cached(&self) -> Vec<$item> {
                    self.cached(CatalogKind::$kind, $item::parse)
                }
            )*
        }
    };
}

lists! {
    list_tools, cached_tools, Tool, Tools, "tools";
    list_resources, cached_resources, Resource, Resources, "resources";
    list_resource_templates, cached_resource_templates, ResourceTemplate, ResourceTemplates, "resource templates";
    list_prompts, cached_prompts, Prompt, Prompts, "prompts";
}

impl Client {
    async fn list<T>(
        &self,
        kind: CatalogKind,
        read: impl Fn(Bytes) -> Result<T, InvalidItem>,
    ) -> Result<Vec<T>, Error> {
        let running = self.running()?;
        let server = running.handle.name().clone();
        let exchange = CallEngine { line: &*running, sender: &self.sender, server: server.clone() };
        let unusable = |reason: String| Error::protocol(&server, format!("{}: {reason}", kind.list_method()));
        let work = async {
            let (mut all, mut params) = (Vec::new(), Map::new());
            for _ in 0..MAX_PAGES {
                let result = exchange.run(kind.list_method(), params).await?;
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

    fn cached<T>(&self, kind: CatalogKind, read: impl Fn(Bytes) -> Result<T, InvalidItem>) -> Vec<T> {
        let Some(status) = self.status() else { return Vec::new() };
        status.catalog.list(kind).iter().filter_map(|item| read(item.clone()).ok()).collect()
    }
}
