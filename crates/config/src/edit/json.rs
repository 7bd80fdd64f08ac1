//! Changes in JSON, comments kept.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{Change, export::Pairs};
use crate::syntax::JSONC;

pub(super) fn write(text: &str, home: &[&str], name: &str, change: &Change<'_>) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    let root = CstRootNode::parse(text, &JSONC).map_err(|error| error.to_string())?;
    let mut servers = root.object_value().ok_or("it is not a JSON object")?;
    for key in home {
        servers =
            servers.object_value_or_create(key).ok_or_else(|| format!("`{key}` in it is not an object"))?;
    }
    let there = servers.get(name);
    match (change, there) {
        (Change::Put(entry), Some(property)) => match property.object_value() {
            Some(object) => merge(&object, entry),
            None => property.set_value(object(entry)),
        },
        (Change::Put(entry), None) => {
            servers.ensure_multiline();
            servers.append(name, object(entry));
        }
        (_, None) => {}
        (Change::Remove, Some(property)) => property.remove(),
        (Change::Set(key, value), Some(property)) => {
            let entry = property.object_value().ok_or("the entry is not an object")?;
            set(&entry, key, value);
        }
        (Change::Unset(keys), Some(property)) => {
            let entry = property.object_value().ok_or("the entry is not an object")?;
            for key in *keys {
                if let Some(property) = entry.get(key) {
                    property.remove();
                }
            }
        }
    }
    Ok(root.to_string())
}

/// Changes an entry to the wanted one, and leaves equal values untouched.
fn merge(entry: &CstObject, wanted: &Pairs) {
    for property in entry.properties() {
        let name = property.decoded_name();
        if !wanted.iter().any(|(key, _)| Some(key) == name.as_ref()) {
            property.remove();
        }
    }
    for (key, value) in wanted {
        set(entry, key, value);
    }
}

fn set(entry: &CstObject, key: &str, value: &Value) {
    match entry.get(key) {
        Some(property) if property.to_serde_value().as_ref() == Some(value) => {}
        Some(property) => property.set_value(input(value)),
        None => {
            entry.append(key, input(value));
        }
    }
}

fn object(entry: &Pairs) -> CstInputValue {
    CstInputValue::Object(entry.iter().map(|(key, value)| (key.clone(), input(value))).collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entries) => {
            CstInputValue::Object(entries.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
