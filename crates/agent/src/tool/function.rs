//! A closure as a tool.

use std::{fmt, future::Future, sync::Arc};

use serde_json::Value;

use super::{Tool, ToolContext, ToolOutput};
use crate::handlers::{BoxError, BoxFuture};

struct FunctionTool<F> {
    name: String,
    description: String,
    schema: Value,
    run: F,
}

/// A tool from a closure, which gets the arguments and gives a text. An error goes to the model as a failed tool.
///
/// ```
/// use serde_json::json;
/// use toolbay_agent::tool_fn;
///
/// let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
/// let shout = tool_fn("shout", "Says it louder.", schema, |arguments| async move {
///     let text = arguments["text"].as_str().ok_or("`text` is missing")?;
///     Ok(text.to_uppercase())
/// });
/// assert_eq!(shout.name(), "shout");
/// ```
pub fn tool_fn<F, R>(
    name: impl Into<String>,
    description: impl Into<String>,
    schema: Value,
    run: F,
) -> Arc<dyn Tool>
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, BoxError>> + Send + 'static,
{
    Arc::new(FunctionTool { name: name.into(), description: description.into(), schema, run })
}

impl<F, R> Tool for FunctionTool<F>
where
    F: Fn(Value) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, BoxError>> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, arguments: Value, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        let running = (self.run)(arguments);
        Box::pin(async move {
            match running.await {
                Ok(text) => ToolOutput::text(text),
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}

impl<F> fmt::Debug for FunctionTool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.name).finish_non_exhaustive()
    }
}
