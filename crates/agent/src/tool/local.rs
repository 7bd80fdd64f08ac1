//! Tools of this program as an MCP server.
//!
//! They are a server in this process, so they are listed, checked and called like all others, by whoever uses the host.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use toolbay_host::InProcess;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::{Call, CallFuture, Server, in_process};

use super::{Tool, ToolContext, ToolOutput};
use crate::{CallOptions, Progress};

/// A server with these tools, for [`Host::start`](toolbay_host::Host::start) or
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

    /// A host that is gone waits for nothing.
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

/// Options that pass progress on to a caller who wants it.
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
    // What a server said is passed on whole, unless it was shortened.
    match output.result.as_ref().filter(|whole| whole.to_text() == output.text) {
        Some(whole) => {
            let mut whole = whole.to_value();
            // Ours to say, in the revision of this caller.
            if let Some(fields) = whole.as_object_mut() {
                fields.remove("resultType");
            }
            whole
        }
        None => json!({ "content": [{ "type": "text", "text": output.text }], "isError": output.is_error }),
    }
}
