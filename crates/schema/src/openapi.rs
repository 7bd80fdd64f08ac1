//! The dialect of Gemini: a part of OpenAPI 3.0.

use serde_json::{Map, Value, json};

use crate::{
    inline::inlined,
    plain::{flatten, with_plain_top},
};

/// Keywords that stay unchanged.
const KEPT: [&str; 16] = [
    "title",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "anyOf",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "pattern",
];

/// A schema in the dialect of Gemini.
pub fn openapi(schema: &Value) -> Value {
    said_otherwise(inlined(&with_plain_top(schema)))
}

fn said_otherwise(schema: Value) -> Value {
    let Value::Object(mut object) = schema else {
        return json!({}); // `true` or `false`
    };
    if object.contains_key("allOf") {
        let choices = object.remove("anyOf").or_else(|| object.remove("oneOf"));
        flatten(&mut object);
        object.extend(choices.map(|choices| ("anyOf".to_owned(), choices)));
    }
    if let Some(choices) = object.remove("oneOf") {
        object.entry("anyOf").or_insert(choices);
    }
    if let Some(only) = object.remove("const") {
        object.entry("enum").or_insert_with(|| json!([only]));
    }
    let mut written = Map::new();
    write_type(&mut object, &mut written);
    write_bounds(&object, &mut written);
    write_format(&object, &mut written);
    for word in KEPT {
        let Some(value) = object.remove(word) else { continue };
        let value = match (word, value) {
            ("properties", Value::Object(properties)) => properties
                .into_iter()
                .map(|(name, property)| (name, said_otherwise(property)))
                .collect::<Map<_, _>>()
                .into(),
            ("items", items) => said_otherwise(items),
            ("anyOf", Value::Array(choices)) => {
                let (null, others): (Vec<_>, Vec<_>) =
                    choices.into_iter().partition(|choice| choice["type"] == "null");
                if !null.is_empty() {
                    written.insert("nullable".to_owned(), json!(true));
                }
                others.into_iter().map(said_otherwise).collect::<Vec<_>>().into()
            }
            (_, value) => value,
        };
        written.insert(word.to_owned(), value);
    }
    write_enum(&mut written);
    only_named(&mut written);
    if written.get("type") == Some(&json!("array"))
        && written.get("items").is_none_or(|items| *items == json!({}))
    {
        written.insert("items".to_owned(), json!({ "type": "string" }));
    }
    written.into()
}

/// One type; null beside it becomes `nullable`, and several types become alternatives.
fn write_type(object: &mut Map<String, Value>, written: &mut Map<String, Value>) {
    match object.remove("type") {
        Some(Value::Array(kinds)) => {
            let (null, others): (Vec<_>, Vec<_>) = kinds.into_iter().partition(|kind| kind == "null");
            if !null.is_empty() {
                written.insert("nullable".to_owned(), json!(true));
            }
            match &others[..] {
                [only] => drop(written.insert("type".to_owned(), only.clone())),
                several if !object.contains_key("anyOf") => {
                    let choices: Vec<Value> = several.iter().map(|kind| json!({ "type": kind })).collect();
                    object.insert("anyOf".to_owned(), choices.into());
                }
                _ => {}
            }
        }
        Some(kind) => drop(written.insert("type".to_owned(), kind)),
        None if object.contains_key("properties") => drop(written.insert("type".to_owned(), json!("object"))),
        None => {}
    }
}

/// Bounds that exclude their value become ones that include it, or the next integer.
fn write_bounds(object: &Map<String, Value>, written: &mut Map<String, Value>) {
    let is_integer = written.get("type") == Some(&json!("integer"));
    for (exclusive, inclusive, step) in
        [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)]
    {
        let Some(bound) = object.get(exclusive).filter(|bound| bound.is_number()) else { continue };
        let next = bound.as_i64().filter(|_| is_integer).and_then(|bound| bound.checked_add(step));
        written.insert(inclusive.to_owned(), next.map_or_else(|| bound.clone(), |next| json!(next)));
    }
}

/// The formats that Gemini knows.
fn write_format(object: &Map<String, Value>, written: &mut Map<String, Value>) {
    let known = match written.get("type").and_then(Value::as_str) {
        Some("string") => &["date-time"][..],
        Some("number") => &["float", "double"],
        Some("integer") => &["int32", "int64"],
        _ => &[],
    };
    if let Some(format) = object.get("format").filter(|format| known.iter().any(|known| *format == known)) {
        written.insert("format".to_owned(), format.clone());
    }
}

/// Values of an enumeration are strings; others go into the description.
fn write_enum(written: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = written.remove("enum") else { return };
    let is_text = values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    if is_text {
        written.entry("type").or_insert_with(|| json!("string"));
        written.insert("enum".to_owned(), values.into());
    } else {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        let before = written.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{before} One of: {}.", values.join(", "));
        written.insert("description".to_owned(), json!(description.trim_start()));
    }
}

/// Only declared properties can be required.
fn only_named(written: &mut Map<String, Value>) {
    let named = written.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(Value::Array(required)) = written.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| named.contains_key(name)));
        if required.is_empty() {
            written.remove("required");
        }
    }
}
