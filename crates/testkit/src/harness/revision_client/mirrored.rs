//! Arguments that a tool wants in headers, too.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// Which arguments of which tools stand in headers, as the list of tools says.
#[derive(Debug, Default)]
pub(super) struct Mirrored(Vec<Annotation>);

#[derive(Debug)]
struct Annotation {
    tool: Value,
    argument: String,
    header: String,
}

impl Mirrored {
    pub(super) fn learn(&mut self, tools: &[Value]) {
        self.0.clear();
        for tool in tools {
            let properties = tool["inputSchema"]["properties"].as_object().into_iter().flat_map(Map::iter);
            self.0.extend(properties.filter_map(|(argument, schema)| {
                let header = schema["x-mcp-header"].as_str()?.to_owned();
                Some(Annotation { tool: tool["name"].clone(), argument: argument.clone(), header })
            }));
        }
    }

    /// The headers that a call must carry.
    pub(super) fn headers(&self, params: &Value) -> String {
        let wanted = self.0.iter().filter(|annotation| annotation.tool == params["name"]);
        wanted
            .filter_map(|annotation| {
                let value = written(&params["arguments"][&annotation.argument])?;
                Some(format!("Mcp-Param-{}: {value}\r\n", annotation.header))
            })
            .collect()
    }
}

fn written(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        _ => return None,
    };
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text;
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    Some(if is_plain && !looks_encoded { text } else { format!("=?base64?{}?=", STANDARD.encode(text)) })
}
