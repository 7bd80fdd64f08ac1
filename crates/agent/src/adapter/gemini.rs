//! The API of Gemini.
//!
//! Its schemas are a part of OpenAPI 3.0: references are inlined, `oneOf`, `allOf` and `const` are rewritten, and keywords
//! without a counterpart are dropped. The arguments are still checked against the schema of the server, and
//! the model gets the problems.

use serde_json::{Value, json};

use super::{Done, ToolCall, ToolSet, items, schema};

/// The value of `tools` in a request.
pub fn definitions(tools: &ToolSet) -> Value {
    let declarations: Vec<Value> = tools
        .iter()
        .map(|(name, tool)| {
            let mut declaration = json!({ "name": name, "description": tool.description() });
            let parameters = schema::openapi(tool.schema());
            // A tool without parameters must not have an empty object of them.
            if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
                declaration["parameters"] = parameters;
            }
            declaration
        })
        .collect();
    json!([{ "functionDeclarations": declarations }])
}

/// The calls in a response, or in one content of it.
pub fn calls(response: &Value) -> Vec<ToolCall> {
    let content = response.pointer("/candidates/0/content").unwrap_or(response);
    items(&content["parts"])
        .iter()
        .filter_map(|part| part.get("functionCall"))
        .map(|call| ToolCall::written(&call["id"], &call["name"], &call["args"]))
        .collect()
}

/// The content with the results. It follows the content with the calls.
pub fn results(done: &[Done]) -> Value {
    let parts: Vec<Value> = done
        .iter()
        .map(|done| {
            let key = if done.output.is_error { "error" } else { "output" };
            let mut response = json!({ "name": done.call.name, "response": { key: done.output.text } });
            if !done.call.id.is_empty() {
                response["id"] = json!(done.call.id);
            }
            json!({ "functionResponse": response })
        })
        .collect();
    json!({ "role": "user", "parts": parts })
}
