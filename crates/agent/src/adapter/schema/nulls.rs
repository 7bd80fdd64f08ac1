//! Nulls that stand for nothing.

use serde_json::{Map, Value};

use super::inline::find;

/// Arguments without the nulls that a model wrote only because a strict schema has no other way to leave something out: those
/// of properties that are optional and cannot be null.
pub(in crate::adapter) fn without_added_nulls(mut arguments: Value, schema: &Value) -> Value {
    clean(&mut arguments, schema, schema, 0);
    arguments
}

/// Deeper than this nobody looks.
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

/// A schema that is an object, its reference followed.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Map<String, Value>> {
    let target = schema.get("$ref").and_then(Value::as_str).map(|reference| find(root, reference));
    target.unwrap_or(Some(schema))?.as_object()
}

/// Whether null is a value that the schema means; where that is not plain, it is.
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
