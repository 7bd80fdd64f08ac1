//! The Messages API of Anthropic.

use serde_json::{Value, json};

use super::{Done, ToolCall, ToolSet, items, schema};

/// The value of `tools` in a request.
pub fn definitions(tools: &ToolSet) -> Value {
    let definition = |(name, tool): (&str, &std::sync::Arc<dyn crate::Tool>)| {
        json!({
            "name": name,
            "description": tool.description(),
            "input_schema": schema::with_plain_top(tool.schema()),
        })
    };
    tools.iter().map(definition).collect::<Vec<_>>().into()
}

/// The calls in a response, or in one message of it.
pub fn calls(response: &Value) -> Vec<ToolCall> {
    items(&response["content"])
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|block| ToolCall::written(&block["id"], &block["name"], &block["input"]))
        .collect()
}

/// The message with the results. It follows the message with the calls.
pub fn results(done: &[Done]) -> Value {
    let results: Vec<Value> = done.iter().map(result).collect();
    json!({ "role": "user", "content": results })
}

fn result(done: &Done) -> Value {
    let mut content = vec![];
    if !done.output.text.is_empty() {
        content.push(json!({ "type": "text", "text": done.output.text }));
    }
    content.extend(images(done));
    let mut result = json!({ "type": "tool_result", "tool_use_id": done.call.id, "content": content });
    if done.output.is_error {
        result["is_error"] = json!(true);
    }
    result
}

/// Images that the model can look at.
fn images(done: &Done) -> Vec<Value> {
    let blocks = done.output.result.iter().flat_map(|result| result.artifacts());
    blocks
        .filter_map(|block| {
            let block: Value = serde_json::from_str(block.raw()).ok()?;
            let (kind, data) = (block["mimeType"].as_str()?, block["data"].as_str()?);
            let can_be_seen = matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
            (block["type"] == "image" && can_be_seen).then(|| {
                json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
            })
        })
        .collect()
}
