//! The hub as a server: its own state, for clients and models.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_server::{
    Annotations, NoArguments, Tool, ToolContext, ToolOutput, ToolResult, ToolServer, Toolset, in_process,
};
use toolbay_transport::Connection;

/// Returns the state of the hub: servers, states, counts, versions. Must not contain secrets.
pub type StatusSource = Arc<dyn Fn() -> Value + Send + Sync>;

const INSTRUCTIONS: &str = "Reports the MCP servers of this Toolbay hub and their state.";
const DESCRIPTION: &str = "Lists the MCP servers of this hub with their state, version, and number of tools, resources and prompts.";

/// The server `hub`, with the read-only tool `status`. Clients and models read `note` with it: what they should know about
/// servers that are not offered.
pub fn hub(
    status: StatusSource,
    note: Option<&str>,
) -> Arc<dyn Fn(&TaskTracker) -> Connection + Send + Sync> {
    let with_note = |text: &str| match note {
        Some(note) => format!("{text} {note}"),
        None => text.to_owned(),
    };
    let tool = Tool::new("status", report_status)
        .title("Hub status")
        .description(with_note(DESCRIPTION))
        .output_schema(json!({ "type": "object", "properties": { "servers": { "type": "array" } } }))
        .annotations(Annotations::READ_ONLY);
    let server = ToolServer::new("toolbay-hub", Hub { status }, Toolset::new([tool]));
    in_process(Arc::new(server.instructions(with_note(INSTRUCTIONS))))
}

struct Hub {
    status: StatusSource,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hub")
    }
}

async fn report_status(hub: Arc<Hub>, _: NoArguments, _: ToolContext) -> ToolResult {
    let status = (hub.status)();
    let text = serde_json::to_string_pretty(&status).unwrap_or_default();
    Ok(ToolOutput::text(text).with_structured(&status))
}
