//! `key=value` to the arguments of a tool or prompt.
//!
//! The result is JSON text and values in JSON go into it as they were typed, so that long numbers stay what they are.

use serde_json::{Value, value::RawValue};
use toolbay_protocol::encode_string;

use crate::app::error::CliError;

/// Arguments of a tool: its schema says which values are JSON and which are text. `key:=JSON` is always JSON.
pub(crate) fn of_tool(typed: &[String], schema: &Value) -> Result<String, CliError> {
    collect(typed, |key, value| {
        let Some(expected) = json_type(schema, schema.get("properties").and_then(|all| all.get(key)), 0)
        else {
            return Ok(encode_string(value));
        };
        match serde_json::from_str::<&RawValue>(value) {
            Ok(_) => Ok(value.trim().to_owned()),
            Err(_) => Err(CliError::Usage {
                message: format!("`{key}` must be {}, got `{value}`", with_articles(&expected)),
                hint: Some(format!("for example: {key}={}", example(&expected))),
            }),
        }
    })
}

/// Names of types as a sentence has them: `number or array` is "a number or an array".
fn with_articles(types: &str) -> String {
    let article = |name: &str| if name.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    let names: Vec<String> = types.split(" or ").map(|name| format!("{} {name}", article(name))).collect();
    names.join(" or ")
}

/// Arguments of a prompt, which are always text.
pub(crate) fn of_prompt(typed: &[String]) -> Result<String, CliError> {
    collect(typed, |_, value| Ok(encode_string(value)))
}

/// Checks that a text is a JSON object.
pub(crate) fn of_json(text: &str) -> Result<String, CliError> {
    let text = text.trim();
    match serde_json::from_str::<serde_json::Map<String, Value>>(text) {
        Ok(_) => Ok(text.replace(['\n', '\r'], " ")),
        Err(error) => Err(CliError::usage(format!("--args-json must be a JSON object: {error}"))),
    }
}

fn collect(
    typed: &[String],
    value_of: impl Fn(&str, &str) -> Result<String, CliError>,
) -> Result<String, CliError> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for argument in typed {
        let Some((key, value)) = argument.split_once('=') else {
            return Err(CliError::Usage {
                message: format!("`{argument}` is not an argument"),
                hint: Some("write key=value, or key:=JSON".to_owned()),
            });
        };
        let (key, text) = match key.strip_suffix(':') {
            Some(key) => match serde_json::from_str::<&RawValue>(value) {
                Ok(_) => (key, value.trim().replace(['\n', '\r'], " ")),
                Err(error) => {
                    return Err(CliError::usage(format!("the value of `{key}` is not valid JSON: {error}")));
                }
            },
            None => (key, value_of(key, value)?),
        };
        if fields.iter().any(|(known, _)| *known == key) {
            return Err(CliError::usage(format!("`{key}` is given twice")));
        }
        fields.push((key, text));
    }
    let fields: Vec<String> =
        fields.iter().map(|(key, value)| format!("{}:{value}", encode_string(key))).collect();
    Ok(format!("{{{}}}", fields.join(",")))
}

/// The type of a value that must be JSON; none if text will do or the schema does not tell.
fn json_type(root: &Value, schema: Option<&Value>, depth: usize) -> Option<String> {
    let schema = schema?;
    if depth > 16 {
        return None;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return json_type(root, root.pointer(target.strip_prefix('#')?), depth + 1);
    }
    let names = |types: Vec<&str>| {
        let others: Vec<&str> = types.iter().copied().filter(|name| *name != "null").collect();
        (!others.is_empty() && !others.contains(&"string")).then(|| others.join(" or "))
    };
    match schema.get("type") {
        Some(Value::String(name)) => return names(vec![name]),
        Some(Value::Array(types)) => return names(types.iter().filter_map(Value::as_str).collect()),
        _ => {}
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            let is_null = |choice: &&Value| choice.get("type").and_then(Value::as_str) != Some("null");
            let types: Option<Vec<String>> = choices
                .iter()
                .filter(is_null)
                .map(|choice| json_type(root, Some(choice), depth + 1))
                .collect();
            return types.filter(|types| !types.is_empty()).map(|types| types.join(" or "));
        }
    }
    let values = schema.get("enum").and_then(Value::as_array);
    let all = |test: fn(&Value) -> bool| values.is_some_and(|values| values.iter().all(test));
    if all(Value::is_number) {
        return Some("number".to_owned());
    }
    all(Value::is_boolean).then(|| "boolean".to_owned())
}

fn example(expected: &str) -> &'static str {
    match expected.split(' ').next() {
        Some("boolean") => "true",
        Some("array") => "'[1,2]'",
        Some("object") => "'{\"a\":1}'",
        _ => "42",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_follow_the_schema() {
        let schema = json!({
            "properties": {
                "n": { "type": "integer" }, "s": { "type": "string" }, "b": { "type": ["boolean", "null"] },
                "l": { "$ref": "#/$defs/list" }, "o": { "anyOf": [{ "type": "object" }, { "type": "null" }] },
                "either": { "anyOf": [{ "type": "string" }, { "type": "number" }] }, "any": {},
                "level": { "enum": [1, 2] },
            },
            "$defs": { "list": { "type": "array" } },
        });
        for (typed, expected) in [
            ("n=12345678901234567890123", Ok(r#"{"n":12345678901234567890123}"#)),
            ("n=1.50", Ok(r#"{"n":1.50}"#)),
            ("s=42", Ok(r#"{"s":"42"}"#)),
            ("s=a=b \"c\"", Ok(r#"{"s":"a=b \"c\""}"#)),
            ("b=true", Ok(r#"{"b":true}"#)),
            ("l=[1, 2]", Ok(r#"{"l":[1, 2]}"#)),
            ("o={\"x\":{}}", Ok(r#"{"o":{"x":{}}}"#)),
            ("either=1", Ok(r#"{"either":"1"}"#)),
            ("any=1", Ok(r#"{"any":"1"}"#)),
            ("any:=1", Ok(r#"{"any":1}"#)),
            ("s:=null", Ok(r#"{"s":null}"#)),
            ("level=2", Ok(r#"{"level":2}"#)),
            ("other=x", Ok(r#"{"other":"x"}"#)),
            ("n=many", Err("`n` must be an integer, got `many`")),
            ("n", Err("`n` is not an argument")),
            (
                "x:={",
                Err("the value of `x` is not valid JSON: EOF while parsing an object at line 1 column 1"),
            ),
        ] {
            let result = of_tool(&[typed.to_owned()], &schema).map_err(|error| error.to_string());
            assert_eq!(result.as_deref().map_err(String::as_str), expected, "{typed}");
        }
        assert!(of_tool(&["s=1".to_owned(), "s=2".to_owned()], &schema).is_err());
    }
}
