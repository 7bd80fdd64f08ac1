//! Parameters of a JSON Schema as text.

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Schemas that nest deeper, or refer to themselves, are not followed.
const MAX_DEPTH: usize = 8;

/// One property of an object.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// Such as `string`, `number[]` or `"a" | "b"`.
    pub(crate) type_name: String,
    pub(crate) is_required: bool,
    /// As JSON text.
    pub(crate) default: Option<String>,
    pub(crate) description: Option<String>,
    /// Its own schema, with references resolved.
    pub(crate) schema: Value,
}

/// The properties of a schema, those that are required first and otherwise in the order in which they are written; the text
/// is that of an object schema.
pub(crate) fn parameters(text: &str) -> Vec<Parameter> {
    #[derive(Deserialize)]
    struct Root {
        #[serde(default)]
        properties: InOrder,
        #[serde(default)]
        required: Vec<String>,
    }
    let Ok(root) = serde_json::from_str::<Root>(text) else { return Vec::new() };
    let whole: Value = serde_json::from_str(text).unwrap_or_default();
    let parameter = |(name, text): (String, Box<RawValue>)| {
        let written: Value = serde_json::from_str(text.get()).unwrap_or_default();
        let schema = resolved(&whole, &written, 0).clone();
        // Beside a reference there may be a description of its own.
        let own = |key: &str| written.get(key).or_else(|| schema.get(key));
        Parameter {
            type_name: type_name(&whole, &schema, 0),
            is_required: root.required.contains(&name),
            default: own("default").map(Value::to_string),
            description: own("description")
                .or_else(|| own("title"))
                .and_then(Value::as_str)
                .map(str::to_owned),
            schema,
            name,
        }
    };
    let mut all: Vec<Parameter> = root.properties.0.into_iter().map(parameter).collect();
    all.sort_by_key(|parameter| !parameter.is_required);
    all
}

/// `(a: number, b?: string)`.
pub(crate) fn signature(parameters: &[Parameter]) -> String {
    let written = parameters.iter().map(|parameter| {
        let mark = if parameter.is_required { "" } else { "?" };
        format!("{}{mark}: {}", parameter.name, parameter.type_name)
    });
    format!("({})", written.collect::<Vec<_>>().join(", "))
}

/// A value that a parameter may have, for examples: its default, its first choice, or one of its type.
pub(crate) fn example(parameter: &Parameter) -> Value {
    let schema = &parameter.schema;
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|all| all.first()).cloned();
    let given = schema.get("default").or_else(|| schema.get("const")).cloned();
    if let Some(value) = given.or_else(|| first("examples")).or_else(|| first("enum")) {
        return value;
    }
    match parameter.type_name.as_str() {
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        "boolean" => true.into(),
        name if name.ends_with("[]") => Value::Array(Vec::new()),
        "object" => Value::Object(serde_json::Map::new()),
        _ => "…".into(),
    }
}

/// A type as one would write it in TypeScript.
fn type_name(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = resolved(root, schema, depth);
    if depth > MAX_DEPTH {
        return "any".to_owned();
    }
    let inner = |schema: &Value| type_name(root, schema, depth + 1);
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return joined(choices.iter().map(Value::to_string));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items").map(inner) {
            Some(item) if item.contains(' ') => format!("({item})[]"),
            Some(item) => format!("{item}[]"),
            None => "any[]".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => joined(names.iter().filter_map(Value::as_str).map(str::to_owned)),
        _ => {
            let choices = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
            match choices {
                Some(choices) => joined(choices.iter().map(inner)),
                None if schema.get("properties").is_some() => "object".to_owned(),
                None => "any".to_owned(),
            }
        }
    }
}

/// Joins alternative types; `null` means only that a value may be left out.
fn joined(types: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for name in types {
        if name != "null" && !all.contains(&name) {
            all.push(name);
        }
    }
    if all.is_empty() { "null".to_owned() } else { all.join(" | ") }
}

/// Resolves a reference within the schema.
fn resolved<'a>(root: &'a Value, schema: &'a Value, depth: usize) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    match target.and_then(|pointer| root.pointer(pointer)) {
        Some(target) if depth < MAX_DEPTH => resolved(root, target, depth + 1),
        _ => schema,
    }
}

/// An object whose fields keep their order.
#[derive(Debug, Default)]
struct InOrder(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = InOrder;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(InOrder(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_in_order_with_their_types() {
        let text = r##"{"type":"object","required":["z","a"],"properties":{
            "first":{"type":"boolean"},"z":{"type":"number","description":"the last"},"a":{"$ref":"#/$defs/list"},
            "mode":{"enum":["x","y"],"default":"x"},"either":{"anyOf":[{"type":"string"},{"type":"null"}]},
            "pairs":{"type":"array","items":{"type":["string","integer"]}},"any":{},
            "loop":{"$ref":"#/properties/loop"}},
            "$defs":{"list":{"type":"array","items":{"type":"string"}}}}"##;
        let found = parameters(text);
        assert_eq!(
            signature(&found),
            r#"(z: number, a: string[], first?: boolean, mode?: "x" | "y", either?: string, pairs?: (string | integer)[], any?: any, loop?: any)"#
        );
        assert_eq!(found[0].description.as_deref(), Some("the last"));
        assert_eq!(found[3].default.as_deref(), Some("\"x\""));
        assert_eq!(
            (example(&found[0]), example(&found[1]), example(&found[3])),
            (1.into(), Value::Array(vec![]), "x".into())
        );
        assert!(parameters("true").is_empty() && parameters("{}").is_empty());
    }
}
