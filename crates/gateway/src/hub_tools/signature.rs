//! A tool in one line.

use serde_json::Value;
use toolbay_protocol::model::Tool;

/// How long a signature may be: parameters that do not fit are counted.
const MAX_PARAMETERS: usize = 400;
/// How long the description behind it may be.
const MAX_DESCRIPTION: usize = 160;

/// `name(arg: type*, other: type) — what it does`; required parameters have a star.
pub(super) fn signature(tool: &Tool) -> String {
    let description = first_line(&tool.description().unwrap_or_default());
    let separator = if description.is_empty() { "" } else { " — " };
    format!("{}({}){separator}{description}", tool.name(), parameters(tool))
}

/// `arg: type*, other: type`.
pub(super) fn parameters(tool: &Tool) -> String {
    let schema = tool.input_schema().and_then(|schema| serde_json::from_str(schema).ok());
    parameters_of(&schema.unwrap_or_default())
}

/// The first sentence or line of a description.
pub(super) fn first_line(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default().trim();
    let sentence = line.find(". ").map_or(line, |end| &line[..=end]);
    shortened(sentence, MAX_DESCRIPTION)
}

fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", text[..end].trim_end())
}

fn parameters_of(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // What must be there comes first.
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_by_key(|name| !required.contains(&name.as_str()));
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        let star = if required.contains(&name.as_str()) { "*" } else { "" };
        let parameter = format!("{name}: {}{star}", type_name(&properties[name.as_str()]));
        if text.len() + parameter.len() > MAX_PARAMETERS {
            text.push_str(&format!(", {} more", names.len() - index));
            break;
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(&parameter);
    }
    text
}

fn type_name(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let shown: Vec<String> = values.iter().take(8).map(Value::to_string).collect();
        let more = if values.len() > shown.len() { "|…" } else { "" };
        return format!("{}{more}", shown.join("|"));
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("{}[]", type_name(&schema["items"])),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_required_parameters_first_and_one_line_of_the_description() {
        let tool = r#"{"name":"a__b","description":"Does it. Slowly.\nMore.","inputSchema":{"type":"object",
            "properties":{"x":{"type":"integer"},"mode":{"enum":["fast","slow"]},"ids":{"type":"array","items":{"type":"string"}}},
            "required":["ids"]}}"#;
        let tool = Tool::parse(tool.into()).unwrap();
        assert_eq!(signature(&tool), r#"a__b(ids: string[]*, mode: "fast"|"slow", x: integer) — Does it."#);
        let bare = Tool::parse(r#"{"name":"t","inputSchema":{}}"#.into()).unwrap();
        assert_eq!(signature(&bare), "t()");
    }
}
