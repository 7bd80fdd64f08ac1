//! JSON Schema in the dialects of model APIs.

mod inline;
mod openapi;
mod strict;

use serde_json::{Map, Value, json};

pub(super) use openapi::openapi;
pub(super) use strict::{strict, without_added_nulls};

/// Keywords for alternatives, which no API accepts at the top of a schema.
const CHOICES: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// A schema whose top is a plain object with properties, as all APIs require; the rest is unchanged.
pub(super) fn with_plain_top(schema: &Value) -> Value {
    let mut top = schema.as_object().cloned().unwrap_or_default();
    if top.contains_key("$ref") || CHOICES.iter().any(|word| top.contains_key(*word)) {
        // Only inlined schemas can be merged.
        top = inline::inlined(schema).as_object().cloned().unwrap_or_default();
        flatten(&mut top);
    }
    for word in ["enum", "not", "if", "then", "else"] {
        top.remove(word);
    }
    top.insert("type".to_owned(), json!("object"));
    top.entry("properties").or_insert_with(|| json!({}));
    let mut schema = Value::Object(top);
    complete_arrays(&mut schema);
    schema
}

/// Merges the alternatives at the top of a schema: all properties, of which only those are required that every alternative requires.
fn flatten(top: &mut Map<String, Value>) {
    for word in CHOICES {
        let Some(Value::Array(branches)) = top.remove(word) else { continue };
        let mut required: Option<Vec<Value>> = None;
        for branch in branches.into_iter().filter_map(|branch| match branch {
            Value::Object(branch) => Some(branch),
            _ => None,
        }) {
            let mut branch = branch;
            flatten(&mut branch);
            let wants =
                branch.remove("required").and_then(|list| list.as_array().cloned()).unwrap_or_default();
            required = Some(match required {
                None => wants,
                Some(mut known) if word == "allOf" => {
                    known.extend(wants);
                    known
                }
                Some(known) => known.into_iter().filter(|name| wants.contains(name)).collect(),
            });
            merge(top, branch);
        }
        let own = top.remove("required").and_then(|list| list.as_array().cloned()).unwrap_or_default();
        let mut all = own;
        for name in required.unwrap_or_default() {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        if !all.is_empty() {
            top.insert("required".to_owned(), all.into());
        }
    }
}

/// Adds the keywords of one schema to another, which takes precedence.
fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (word, value) in from {
        match (into.get_mut(&word), value) {
            (Some(Value::Object(known)), Value::Object(more)) if word == "properties" => {
                for (name, property) in more {
                    known.entry(name).or_insert(property);
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                into.insert(word, value);
            }
        }
    }
}

/// Adds `items` to arrays without it, which some APIs reject.
fn complete_arrays(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("type") == Some(&json!("array"))
                && !object.contains_key("items")
                && !object.contains_key("prefixItems")
            {
                object.insert("items".to_owned(), json!({}));
            }
            // The values of these keywords are data, not schemas.
            let is_schema =
                |word: &str| !matches!(word, "enum" | "const" | "default" | "examples" | "required");
            object
                .iter_mut()
                .filter(|(word, _)| is_schema(word))
                .for_each(|(_, value)| complete_arrays(value));
        }
        Value::Array(list) => list.iter_mut().for_each(complete_arrays),
        _ => {}
    }
}
