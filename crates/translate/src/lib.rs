//! One revision of MCP to another.
//!
//! Pure functions from message to text: they never wait, know no server and no client, and are tested with text
//! alone. A message that needs no change costs only the edits every forwarded message needs: its id, its name, its
//! progress token.

#![forbid(unsafe_code)]

mod capabilities;
mod content;
mod input_required;
mod json;
mod meta;
mod revisions;
mod server_request;
mod to_client;
mod to_server;

pub use capabilities::{ClientCapabilities, HUB_CAPABILITIES, capabilities_for_server, declares_tasks};
pub use input_required::{
    InputRequest, InputRequired, input_requests, input_responses, retry, task_input_requests,
    url_elicitations,
};
pub use meta::{ClientIdentity, related_task, with_related_task};
pub use server_request::{UnsupportedServerRequest, translate_client_response, translate_server_request};
pub use to_client::{progress, tagged, tool_for, tools_for, translate_response, untagged};
pub use to_server::{RequestEdits, request};
