//! Tools in the formats of model APIs.
//!
//! Each API has a format for definitions of tools, for the calls of a model, and for their results. The modules here write the
//! first from [`Tool`]s, read the second and write the third: JSON in, JSON out. Sending it is up to the
//! program.
//!
//! ```
//! use serde_json::json;
//! use toolbay_agent::{ToolContext, adapter::{ToolSet, anthropic}, tool_fn};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
//! let shout = tool_fn("shout", "Says it louder.", schema, |arguments| async move {
//!     Ok(arguments["text"].as_str().unwrap_or_default().to_uppercase())
//! });
//! let tools = ToolSet::new(vec![shout]);
//! let request = json!({"model": "…", "tools": anthropic::definitions(&tools), "messages": []});
//! assert_eq!(request["tools"][0]["name"], "shout");
//!
//! // The response of the API:
//! let response = json!({"content": [{"type": "tool_use", "id": "t1", "name": "shout", "input": {"text": "hi"}}]});
//! let done = tools.run(anthropic::calls(&response), &ToolContext::new()).await;
//! let message = anthropic::results(&done);
//! assert_eq!(message["content"][0]["content"][0]["text"], "HI");
//! # });
//! # Ok::<_, std::io::Error>(())
//! ```

pub mod anthropic;
pub mod gemini;
mod names;
pub mod openai;
#[cfg(feature = "rig")]
pub mod rig;

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;
use toolbay_schema as schema;

use crate::{Tool, ToolContext, ToolOutput};

/// Tools with names that every model API accepts: at most 64 of `[A-Za-z0-9_-]`, all different.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Vec<(String, Arc<dyn Tool>)>,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its id; empty where the API has none.
    pub id: String,
    /// The name of the tool in the [`ToolSet`].
    pub name: String,
    /// The arguments, or the text that is no JSON object.
    pub arguments: Result<Value, String>,
}

/// A call with its output.
#[derive(Debug, Clone)]
pub struct Done {
    /// The call.
    pub call: ToolCall,
    /// Its output.
    pub output: ToolOutput,
}

impl ToolSet {
    /// A set of tools. A name that is not accepted is shortened and gets a hash of the whole.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let names = names::fitting(tools.iter().map(|tool| tool.name()));
        Self { tools: names.into_iter().zip(tools).collect() }
    }

    /// The tools with their names in this set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn Tool>)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, tool)| tool)
    }

    /// Runs calls concurrently. A failure is an output, too.
    pub async fn run(&self, calls: Vec<ToolCall>, context: &ToolContext) -> Vec<Done> {
        join_all(calls.into_iter().map(|call| async move {
            let output = self.run_one(&call, context).await;
            Done { call, output }
        }))
        .await
    }

    async fn run_one(&self, call: &ToolCall, context: &ToolContext) -> ToolOutput {
        let Some(tool) = self.get(&call.name) else {
            return ToolOutput::error(format!("there is no tool `{}`", call.name));
        };
        match &call.arguments {
            Ok(arguments) => {
                // With a strict schema the model writes null for an optional property that it leaves out.
                let arguments = schema::without_added_nulls(arguments.clone(), tool.schema());
                tool.execute(arguments, context).await
            }
            Err(written) => ToolOutput::error(format!(
                "the arguments of `{}` are not a JSON object: {written}",
                call.name
            )),
        }
    }
}

impl ToolCall {
    /// A call whose arguments are a text.
    fn written(id: &Value, name: &Value, arguments: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = match arguments.as_str() {
            Some(written) if written.trim().is_empty() => Ok(Value::Object(Default::default())),
            Some(written) => match serde_json::from_str(written) {
                Ok(read @ Value::Object(_)) => Ok(read),
                _ => Err(written.to_owned()),
            },
            None if arguments.is_object() => Ok(arguments.clone()),
            None if arguments.is_null() => Ok(Value::Object(Default::default())),
            None => Err(arguments.to_string()),
        };
        Self { id: text(id), name: text(name), arguments }
    }
}

/// The items of an array; none where it is missing.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
