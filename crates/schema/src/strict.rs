//! The dialect of OpenAI's strict mode.

use serde_json::{Map, Value, json};

use crate::{inline::find, plain::with_plain_top};

/// Keywords of strict mode.
const KNOWN: [&str; 22] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "const",
    "description",
    "title",
    "pattern",
    "format",
    "multipleOf",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "minItems",
    "maxItems",
    "$ref",
    "$defs",
    "definitions",
];
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// A schema in strict mode; none where strict mode cannot express it.
pub fn strict(schema: &Value) -> Option<Value> {
    let mut strict = with_plain_top(schema);
    tighten(&mut strict)?;
    Some(strict)
}

fn tighten(schema: &mut Value) -> Option<()> {
    let Value::Object(object) = schema else {
        return None; // `true` accepts anything
    };
    if let Some(choices) = object.remove("oneOf") {
        object.entry("anyOf").or_insert(choices);
    }
    if object.contains_key("allOf") || object.contains_key("not") || object.contains_key("if") {
        return None;
    }
    object.retain(|word, _| KNOWN.contains(&word.as_str()));
    if object.get("format").is_some_and(|format| !FORMATS.iter().any(|known| format == known)) {
        object.remove("format");
    }
    if object.is_empty() || object.keys().all(|word| word == "description" || word == "title") {
        return None; // it has no type
    }
    if is_object(object) {
        close(object)?;
    }
    if let Some(items) = object.get_mut("items") {
        tighten(items)?;
    }
    for word in ["$defs", "definitions"] {
        for definition in object.get_mut(word).and_then(Value::as_object_mut).into_iter().flatten() {
            tighten(definition.1)?;
        }
    }
    for choice in object.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        tighten(choice)?;
    }
    Some(())
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => schema.contains_key("properties"),
    }
}

/// Closes an object: only declared properties, all of them required, the optional ones nullable.
fn close(object: &mut Map<String, Value>) -> Option<()> {
    let is_map = object.get("additionalProperties").is_some_and(Value::is_object);
    let properties = object.get("properties").and_then(Value::as_object).cloned();
    // An object without declared properties may have any.
    let may_have_any = properties.is_none() && object.get("additionalProperties") != Some(&json!(false));
    if is_map || may_have_any {
        return None;
    }
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut closed = Map::new();
    for (name, mut property) in properties.unwrap_or_default() {
        tighten(&mut property)?;
        if !required.contains(&json!(name)) {
            property = or_null(property);
        }
        closed.insert(name, property);
    }
    let names: Vec<Value> = closed.keys().map(|name| json!(name)).collect();
    object.insert("properties".to_owned(), closed.into());
    object.insert("required".to_owned(), names.into());
    object.insert("additionalProperties".to_owned(), json!(false));
    Some(())
}

/// The same schema, nullable.
fn or_null(mut schema: Value) -> Value {
    let is_plain = schema.get("enum").is_none() && schema.get("const").is_none();
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if is_plain && kind != "null" => schema["type"] = json!([kind, "null"]),
        Some(Value::Array(mut kinds)) if is_plain => {
            if !kinds.iter().any(|kind| kind == "null") {
                kinds.push(json!("null"));
            }
            schema["type"] = kinds.into();
        }
        _ => return json!({ "anyOf": [schema, { "type": "null" }] }),
    }
    schema
}

/// Arguments without the nulls that a model wrote only because strict mode has no other way to leave a property out: those
/// of properties that are optional and cannot be null.
pub fn without_added_nulls(mut arguments: Value, schema: &Value) -> Value {
    clean(&mut arguments, schema, schema, 0);
    arguments
}

/// How deep arguments are searched.
const MAX_DEPTH: usize = 32;

fn clean(value: &mut Value, schema: &Value, root: &Value, depth: usize) {
    let Some(schema) = resolved(schema, root).filter(|_| depth < MAX_DEPTH) else { return };
    match value {
        Value::Object(object) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            let required = schema.get("required").and_then(Value::as_array);
            let is_required =
                |name: &str| required.is_some_and(|list| list.iter().any(|known| known == name));
            object.retain(|name, value| match properties.get(name) {
                Some(property) if value.is_null() => is_required(name) || allows_null(property, root),
                _ => true,
            });
            for (name, value) in object {
                if let Some(property) = properties.get(name) {
                    clean(value, property, root, depth + 1);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = schema.get("items") {
                list.iter_mut().for_each(|item| clean(item, items, root, depth + 1));
            }
        }
        _ => {}
    }
}

/// A schema that is an object, after following its reference.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Map<String, Value>> {
    let target = schema.get("$ref").and_then(Value::as_str).map(|reference| find(root, reference));
    target.unwrap_or(Some(schema))?.as_object()
}

/// Whether the schema accepts null; if that is not certain, it does.
fn allows_null(schema: &Value, root: &Value) -> bool {
    let Some(schema) = resolved(schema, root) else { return true };
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "null" || schema.get("nullable") == Some(&Value::Bool(true)),
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => match schema.get("enum").and_then(Value::as_array) {
            Some(values) => values.contains(&Value::Null),
            None => true,
        },
    }
}
