//! The root of a schema of arguments, which are always an object.

use serde_json::{Map, Value};

/// References are followed this often; what takes more is taken for one that admits objects.
const MAX_STEPS: usize = 1000;

/// Whether a schema must get `"type": "object"`; an error where it cannot be, or where its root has a
/// shape that clients refuse.
pub(super) fn about_objects(schema: &Value) -> Result<bool, String> {
    let Value::Object(root) = schema else { return Err("the schema is not an object".to_owned()) };
    let shape = |name: &str, expected: &str, is_right: &dyn Fn(&Value) -> bool| match root.get(name) {
        Some(value) if !is_right(value) => Err(format!("its `{name}` is not {expected}")),
        _ => Ok(()),
    };
    shape("$schema", "a string", &Value::is_string)?;
    shape("properties", "an object of schemas", &|properties| {
        let is_schema = |value: &Value| value.is_object() || value.is_boolean();
        properties.as_object().is_some_and(|properties| properties.values().all(is_schema))
    })?;
    shape("required", "an array of strings", &|names| {
        names.as_array().is_some_and(|names| names.iter().all(Value::is_string))
    })?;
    if root.get("type").is_some_and(|kind| kind == "object") {
        return Ok(false);
    }
    match root.get("type") {
        Some(other) if !names_object(other) => {
            Err(format!("the schema has type {other}, but arguments are an object"))
        }
        _ if !Admission { root: schema, steps: 0 }.of(root) => {
            Err("the schema admits no object, but arguments are an object".to_owned())
        }
        _ => Ok(true),
    }
}

/// Whether a `type` admits objects.
fn names_object(kind: &Value) -> bool {
    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "object"))
}

/// Finds out whether a schema can admit an object at all.
struct Admission<'a> {
    root: &'a Value,
    steps: usize,
}

impl<'a> Admission<'a> {
    fn any(&mut self, schema: &'a Value) -> bool {
        match schema {
            Value::Bool(admits) => *admits,
            Value::Object(schema) => self.of(schema),
            _ => true,
        }
    }

    fn of(&mut self, schema: &'a Map<String, Value>) -> bool {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return true;
        }
        let list = |name: &str| schema.get(name).and_then(Value::as_array);
        let is_typed = schema.get("type").is_none_or(names_object);
        let is_const = schema.get("const").is_none_or(Value::is_object);
        let is_enum = list("enum").is_none_or(|values| values.iter().any(Value::is_object));
        let target =
            schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        is_typed
            && is_const
            && is_enum
            && target.and_then(|pointer| self.root.pointer(pointer)).is_none_or(|schema| self.any(schema))
            && list("allOf").is_none_or(|schemas| schemas.iter().all(|schema| self.any(schema)))
            && list("anyOf").is_none_or(|schemas| schemas.iter().any(|schema| self.any(schema)))
            && list("oneOf").is_none_or(|schemas| schemas.iter().any(|schema| self.any(schema)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_root_gets_the_type_object_where_it_can() {
        for typed in [
            json!({}),
            json!({"properties": {"a": true}}),
            json!({"type": ["object", "null"]}),
            json!({"anyOf": [{"type": "object"}, {"type": "string"}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
            json!({"allOf": [{"required": ["a"]}, {"$ref": "#"}]}),
            json!({"oneOf": [{"const": {}}, {"enum": [{"a": 1}, 2]}]}),
            json!({"$ref": "#anchor"}),
        ] {
            assert_eq!(about_objects(&typed), Ok(true), "{typed}");
        }
        assert_eq!(about_objects(&json!({"type": "object", "anyOf": []})), Ok(false));
    }

    #[test]
    fn a_root_that_admits_no_object_or_that_clients_refuse_is_an_error() {
        for refused in [
            json!(true),
            json!(null),
            json!({"type": "strin"}),
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
            json!({"allOf": [{"type": "object"}, {"type": "array"}]}),
            json!({"oneOf": [false, {"const": 1}]}),
            json!({"enum": ["a"]}),
            json!({"type": "object", "properties": null}),
            json!({"type": "object", "properties": {"a": null}}),
            json!({"type": "object", "required": "a"}),
            json!({"type": "object", "required": [1]}),
            json!({"type": "object", "$schema": 7}),
        ] {
            assert!(about_objects(&refused).is_err(), "{refused}");
        }
    }
}
