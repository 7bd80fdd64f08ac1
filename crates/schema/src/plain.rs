//! Schemas whose top is a plain object.

use serde_json::{Map, Value, json};

use crate::inline;

/// Keywords for alternatives, which no API accepts at the top of a schema.
pub(crate) const CHOICES: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// A schema whose top is a plain object with properties, as all APIs require; the rest is unchanged.
pub fn with_plain_top(schema: &Value) -> Value {
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
/// A property that alternatives describe differently may be as any of them says.
pub(crate) fn flatten(top: &mut Map<String, Value>) {
    for word in CHOICES {
        let Some(Value::Array(branches)) = top.remove(word) else { continue };
        let mut required: Option<Vec<Value>> = None;
        let mut properties: Map<String, Value> = Map::new();
        for branch in branches.into_iter().filter_map(|branch| match branch {
            Value::Object(branch) => Some(branch),
            Value::Bool(true) => Some(Map::new()),
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
            if let Some(Value::Object(more)) = branch.remove("properties") {
                more.into_iter().for_each(|(name, property)| add(&mut properties, word, name, property));
            }
            merge(top, branch);
        }
        if !properties.is_empty() {
            merge(top, Map::from_iter([("properties".to_owned(), properties.into())]));
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

/// Adds a property of one branch to those of the branches before.
fn add(properties: &mut Map<String, Value>, word: &str, name: String, property: Value) {
    let Some(known) = properties.get_mut(&name) else {
        properties.insert(name, property);
        return;
    };
    if *known == property {
        return;
    }
    let joined = if word == "allOf" { "allOf" } else { "anyOf" };
    if let Some(choices) = known.get_mut(joined).and_then(Value::as_array_mut) {
        if !choices.contains(&property) {
            choices.push(property);
        }
        return;
    }
    *known = json!({ joined: [known.take(), property] });
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
pub(crate) fn complete_arrays(schema: &mut Value) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_that_differ_in_a_property_keep_all_of_its_values() {
        let schema = json!({"oneOf": [
            {"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
            {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
            {"properties": {"kind": {"const": "c"}}, "required": ["kind"]}]});
        let plain = with_plain_top(&schema);
        assert_eq!(
            plain["properties"]["kind"],
            json!({"anyOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]})
        );
        assert_eq!(
            (&plain["properties"]["x"]["type"], &plain["required"]),
            (&json!("string"), &json!(["kind"]))
        );
    }
}
