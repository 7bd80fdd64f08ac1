//! Tools, declared in one expression each.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolbay_server::{Annotations, Tool, ToolContext, ToolOutput, ToolResult};
//!
//! struct Clock;
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Arguments {
//!     /// The time zone, such as "Europe/Paris" (default: UTC)
//!     zone: Option<String>,
//! }
//!
//! fn now(_: &Clock, arguments: Arguments, _: &ToolContext) -> ToolResult {
//!     Ok(ToolOutput::text(format!("noon in {}", arguments.zone.as_deref().unwrap_or("UTC"))))
//! }
//!
//! let tool = Tool::blocking("now", now).description("Returns the time.").annotations(Annotations::READ_ONLY);
//! assert_eq!(tool.definition()["inputSchema"]["properties"]["zone"]["type"], "string");
//! ```

use std::{fmt, pin::Pin, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    ToolContext, ToolError, ToolResult,
    arguments::ArgumentSchema,
    schema::{input_schema, output_schema},
};

/// A tool of a server whose state is an `S`: its definition and the function that runs it.
pub struct Tool<S> {
    name: String,
    title: Option<String>,
    description: String,
    annotations: Annotations,
    /// What arguments are checked against.
    pub(crate) arguments: ArgumentSchema,
    /// The input schema that clients get.
    published: Value,
    output_schema: Option<Value>,
    pub(crate) handler: Handler<S>,
    /// What is tried before a handler that blocks.
    pub(crate) at_once: Option<Box<AtOnceHandler<S>>>,
}

type ToolFuture = Pin<Box<dyn Future<Output = ToolResult> + Send>>;
type AsyncHandler<S> = dyn Fn(Arc<S>, Value, ToolContext) -> ToolFuture + Send + Sync;
type BlockingHandler<S> = dyn Fn(&S, Value, &ToolContext) -> ToolResult + Send + Sync;
type AtOnceHandler<S> = dyn Fn(&S, &Value, &ToolContext) -> Option<ToolResult> + Send + Sync;

pub(crate) enum Handler<S> {
    Async(Box<AsyncHandler<S>>),
    /// Runs on a thread for blocking work.
    Blocking(Arc<BlockingHandler<S>>),
}

impl<S: Send + Sync + 'static> Tool<S> {
    /// A tool whose handler is an `async fn(Arc<S>, A, ToolContext) -> ToolResult`. Cancelling the call drops its future.
    pub fn new<A, F, R>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(Arc<S>, A, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let handler = move |state, arguments, context| -> ToolFuture {
            match deserialize(arguments) {
                Ok(arguments) => Box::pin(handler(state, arguments, context)),
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }
        };
        Self::with_handler::<A>(name.into(), Handler::Async(Box::new(handler)))
    }

    /// A tool whose handler blocks, such as one that reads files: a `fn(&S, A, &ToolContext) -> ToolResult`. It runs on a
    /// thread for blocking work. Where it takes long it must look at [`ToolContext::is_cancelled`].
    pub fn blocking<A, F>(name: impl Into<String>, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(&S, A, &ToolContext) -> ToolResult + Send + Sync + 'static,
    {
        let handler = move |state: &S, arguments, context: &ToolContext| {
            handler(state, deserialize(arguments)?, context)
        };
        Self::with_handler::<A>(name.into(), Handler::Blocking(Arc::new(handler)))
    }

    fn with_handler<A: DeserializeOwned + JsonSchema>(name: String, handler: Handler<S>) -> Self {
        let schema = input_schema::<A>();
        Self {
            name,
            title: None,
            description: String::new(),
            annotations: Annotations::default(),
            published: schema.clone(),
            arguments: ArgumentSchema::new::<A>(schema),
            output_schema: None,
            handler,
            at_once: None,
        }
    }

    /// Adds what is tried before a handler that blocks, on the thread that serves all clients: a
    /// `fn(&S, A, &ToolContext) -> Option<ToolResult>` that never waits. Where it has no result, the handler runs.
    pub fn at_once<A, F>(self, handler: F) -> Self
    where
        A: DeserializeOwned,
        F: Fn(&S, A, &ToolContext) -> Option<ToolResult> + Send + Sync + 'static,
    {
        let handler = move |state: &S, arguments: &Value, context: &ToolContext| {
            handler(state, A::deserialize(arguments).ok()?, context)
        };
        Self { at_once: Some(Box::new(handler)), ..self }
    }

    /// Sets the name for people.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the description for models.
    pub fn description(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// Says what the tool may do.
    pub fn annotations(self, annotations: Annotations) -> Self {
        Self { annotations, ..self }
    }

    /// Derives the schema of `structuredContent` from the type that is serialized there.
    pub fn output<T: JsonSchema>(self) -> Self {
        self.output_schema(output_schema::<T>())
    }

    /// Sets the schema of `structuredContent`.
    pub fn output_schema(self, schema: Value) -> Self {
        Self { output_schema: Some(schema), ..self }
    }

    /// Edits the input schema that clients get. Arguments are still checked against the derived one: this is for contracts
    /// that describe a parameter differently from what the tool takes.
    pub fn edit_input_schema(mut self, edit: impl FnOnce(&mut Value)) -> Self {
        edit(&mut self.published);
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the definition as `tools/list` has it.
    pub fn definition(&self) -> Value {
        let mut definition = json!({ "name": self.name });
        if let Some(title) = &self.title {
            definition["title"] = title.as_str().into();
        }
        definition["description"] = self.description.as_str().into();
        definition["inputSchema"] = self.published.clone();
        if let Some(schema) = &self.output_schema {
            definition["outputSchema"] = schema.clone();
        }
        if self.annotations != Annotations::default() {
            definition["annotations"] = json!(self.annotations);
        }
        definition
    }
}

fn deserialize<A: DeserializeOwned>(arguments: Value) -> Result<A, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::InvalidArguments(error.to_string()))
}

impl<S> fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// MCP's annotations of a tool: hints about what it may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// Whether it changes nothing.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether it may delete or overwrite.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether calling it twice does no more than calling it once.
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether it reaches beyond what the server has: the web, other programs.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl Annotations {
    /// A tool that only reads what the server has.
    pub const READ_ONLY: Self = Self {
        read_only: Some(true),
        destructive: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
}
