//! The hub about itself.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_server::{Call, CallFuture, Server, in_process};
use toolbay_transport::Connection;

/// Tells how the hub is: servers, states, counts, versions. Must not contain secrets.
pub type StatusSource = Arc<dyn Fn() -> Value + Send + Sync>;

/// The server `hub`, with the read-only tool `status`. Clients and models read `note` with it: what they should know about what
/// is not offered.
pub fn hub(
    status: StatusSource,
    note: Option<&str>,
) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    let with_note = |text: &str| match note {
        Some(note) => format!("{text} {note}"),
        None => text.to_owned(),
    };
    let (instructions, description) = (with_note(INSTRUCTIONS), with_note(DESCRIPTION));
    in_process(Arc::new(Hub { status, instructions, description }))
}

const INSTRUCTIONS: &str = "Reports the MCP servers of this Toolbay hub and their state.";
const DESCRIPTION: &str = "Lists the MCP servers of this hub with their state, version, and number of tools, resources and prompts.";

struct Hub {
    status: StatusSource,
    instructions: String,
    description: String,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hub")
    }
}

impl Server for Hub {
    fn name(&self) -> &str {
        "toolbay-hub"
    }

    fn instructions(&self) -> Option<&str> {
        Some(&self.instructions)
    }

    fn tools(&self) -> String {
        json!([{
            "name": "status",
            "title": "Hub status",
            "description": self.description,
            "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
            "outputSchema": { "type": "object", "properties": { "servers": { "type": "array" } } },
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
        }])
        .to_string()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let tool = call.tool;
            if tool != "status" {
                let unknown = format!("unknown tool `{tool}`; this server has `status`");
                return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, unknown));
            }
            let status = (self.status)();
            let text = serde_json::to_string_pretty(&status).unwrap_or_default();
            let content = json!([{ "type": "text", "text": text }]);
            Ok(json!({ "content": content, "structuredContent": status }).to_string())
        })
    }
}
