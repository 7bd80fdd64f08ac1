//! Tools of this program as an MCP server.
//!
//! They are a server in this process, so they are listed, checked and called like all others.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolbay_host::InProcess;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::{Call, CallFuture, Server, in_process};

use super::{Tool, ToolContext, ToolOutput};
use crate::{
    CallOptions, Progress,
    handlers::{BoxError, BoxFuture},
};

struct FunctionTool<F> {
    name: String,
    description: String,
    schema: Value,
    run: F,
}

/// Makes a tool from a closure that takes the arguments and returns a text. An error goes to the model as a failed tool.
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

/// Makes a server with these tools, for [`Host::start`](toolbay_host::Host::start) or
/// [`AgentBuilder::in_process`](crate::AgentBuilder::in_process).
pub fn serve_tools(tools: Vec<Arc<dyn Tool>>) -> InProcess {
    in_process(Arc::new(LocalTools { tools }))
}

#[derive(Debug)]
struct LocalTools {
    tools: Vec<Arc<dyn Tool>>,
}

impl Server for LocalTools {
    fn name(&self) -> &str {
        "toolbay-agent"
    }

    /// Calls end with the host.
    fn drain(&self) -> Duration {
        Duration::ZERO
    }

    fn tools(&self) -> String {
        Value::from_iter(self.tools.iter().map(|tool| definition(&**tool))).to_string()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let Some(tool) = self.tools.iter().find(|tool| tool.name() == call.tool) else {
                let unknown = format!("unknown tool `{}`", call.tool);
                return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, unknown));
            };
            let arguments = serde_json::from_str(call.arguments).unwrap_or_default();
            let context = ToolContext::with(reporting(call.progress));
            Ok(result(&tool.execute(arguments, &context).await).to_string())
        })
    }
}

fn definition(tool: &dyn Tool) -> Value {
    json!({ "name": tool.name(), "description": tool.description(), "inputSchema": tool.schema() })
}

/// Options that pass progress on to a caller that follows it.
fn reporting(caller: toolbay_server::Progress) -> CallOptions {
    if !caller.is_wanted() {
        return CallOptions::new();
    }
    CallOptions::new().on_progress(move |Progress { progress, total, message }| {
        let mut fields = json!({ "progress": progress, "total": total, "message": message });
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        caller.send(&fields);
    })
}

fn result(output: &ToolOutput) -> Value {
    // The result of a server is passed on whole, unless it was truncated.
    match output.result.as_ref().filter(|whole| whole.to_text() == output.text) {
        Some(whole) => {
            let mut whole = whole.to_value();
            // Set anew, in the revision of this caller.
            if let Some(fields) = whole.as_object_mut() {
                fields.remove("resultType");
            }
            whole
        }
        None => json!({ "content": [{ "type": "text", "text": output.text }], "isError": output.is_error }),
    }
}
