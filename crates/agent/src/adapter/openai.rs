//! The APIs of OpenAI, and of the many that are compatible: Chat Completions and Responses.
//!
//! With [`Mode::Strict`] the API enforces the schema: every object is closed, every property required, and optional ones are
//! nullable. [`ToolSet::run`] removes the nulls that the model writes for them. A schema that strict mode cannot
//! express, such as a map with any keys, is passed on unchanged, and its tool is not strict.

use serde_json::{Value, json};

use super::{Done, ToolCall, ToolSet, items, schema};

/// The longest description that is accepted.
const MAX_DESCRIPTION: usize = 1024;

/// Whether the API enforces the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The model is expected to follow the schema.
    #[default]
    Loose,
    /// The API enforces the schema, where strict mode can express it.
    Strict,
}

/// The value of `tools` in a request for Chat Completions.
pub fn chat_definitions(tools: &ToolSet, mode: Mode) -> Value {
    let definition = |function: Value| json!({ "type": "function", "function": function });
    functions(tools, mode).into_iter().map(definition).collect::<Vec<_>>().into()
}

/// The calls in a response of Chat Completions, or in one message of it.
pub fn chat_calls(response: &Value) -> Vec<ToolCall> {
    let message = response.pointer("/choices/0/message").unwrap_or(response);
    items(&message["tool_calls"])
        .iter()
        .map(|call| ToolCall::written(&call["id"], &call["function"]["name"], &call["function"]["arguments"]))
        .collect()
}

/// The messages with the results. They follow the message with the calls.
pub fn chat_results(done: &[Done]) -> Vec<Value> {
    let message =
        |done: &Done| json!({ "role": "tool", "tool_call_id": done.call.id, "content": text_of(done) });
    done.iter().map(message).collect()
}

/// The value of `tools` in a request for Responses.
pub fn response_definitions(tools: &ToolSet, mode: Mode) -> Value {
    let definition = |mut function: Value| {
        function["type"] = json!("function");
        function
    };
    functions(tools, mode).into_iter().map(definition).collect::<Vec<_>>().into()
}

/// The calls in a response of Responses.
pub fn response_calls(response: &Value) -> Vec<ToolCall> {
    items(&response["output"])
        .iter()
        .filter(|item| item["type"] == "function_call")
        .map(|item| ToolCall::written(&item["call_id"], &item["name"], &item["arguments"]))
        .collect()
}

/// The items with the results, for `input` of the next request for Responses.
pub fn response_results(done: &[Done]) -> Vec<Value> {
    let item = |done: &Done| json!({ "type": "function_call_output", "call_id": done.call.id, "output": text_of(done) });
    done.iter().map(item).collect()
}

fn functions(tools: &ToolSet, mode: Mode) -> Vec<Value> {
    tools
        .iter()
        .map(|(name, tool)| {
            let strict = (mode == Mode::Strict).then(|| schema::strict(tool.schema())).flatten();
            let is_strict = strict.is_some();
            let parameters = strict.unwrap_or_else(|| schema::with_plain_top(tool.schema()));
            let mut function = json!({
                "name": name,
                "description": shortened(tool.description()),
                "parameters": parameters,
            });
            if mode == Mode::Strict {
                function["strict"] = json!(is_strict);
            }
            function
        })
        .collect()
}

/// There is no field for a failure, so the text says it.
fn text_of(done: &Done) -> String {
    if done.output.is_error { format!("Error: {}", done.output.text) } else { done.output.text.clone() }
}

fn shortened(description: &str) -> String {
    if description.chars().count() <= MAX_DESCRIPTION {
        return description.to_owned();
    }
    description.chars().take(MAX_DESCRIPTION - 1).chain(['…']).collect()
}
