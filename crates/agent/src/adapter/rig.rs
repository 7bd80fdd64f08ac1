//! Tools for the `rig` framework; behind the feature `rig`.
//!
//! ```
//! use serde_json::json;
//! use toolbay_agent::{adapter::{ToolSet, rig}, tool_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
//! let shout = tool_fn("shout", "Says it louder.", schema, |arguments| async move {
//!     Ok(arguments["text"].as_str().unwrap_or_default().to_uppercase())
//! });
//! let tools = rig::dynamic_tools(&ToolSet::new(vec![shout])); // for an agent of rig
//! let output = tools[0].execute(json!({"text": "hi"})).await.unwrap();
//! assert_eq!(output.as_text(), Some("HI"));
//! # });
//! # Ok::<_, std::io::Error>(())
//! ```

use std::sync::Arc;

use rig_core::{
    message::ToolName,
    tool::{DynamicTool, ToolExecutionError, ToolOutput},
};

use super::{ToolSet, schema};
use crate::{Tool, ToolContext};

/// All tools of a set, for an agent of `rig`.
pub fn dynamic_tools(tools: &ToolSet) -> Vec<DynamicTool> {
    tools.iter().filter_map(|(name, tool)| Some(dynamic(ToolName::new(name).ok()?, tool.clone()))).collect()
}

/// A failure goes to the model with its whole text.
fn dynamic(name: ToolName, tool: Arc<dyn Tool>) -> DynamicTool {
    let (description, parameters) = (tool.description().to_owned(), schema::with_plain_top(tool.schema()));
    DynamicTool::new(name, description, parameters, move |arguments| {
        let tool = tool.clone();
        Box::pin(async move {
            let output = tool.execute(arguments, &ToolContext::new()).await;
            if output.is_error {
                Err(ToolExecutionError::other(output.text))
            } else {
                Ok(ToolOutput::text(output.text))
            }
        })
    })
}
