//! Schemas of results, which clients compile when they list tools.
//!
//! The official TypeScript SDK hands every `outputSchema` to Ajv while it reads the list, and fails as a whole where one
//! does not compile. Ajv is stricter than the specification, and regular expressions are those of ECMAScript.

use serde_json::{Map, Value};

use super::{
    validate::compile,
    validation_cost::{ValidationCost, check_size},
};

/// Keywords whose value must be a number.
const NUMBERS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];
/// Keywords that hold values and no schemas.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords whose value maps names to schemas.
const BY_NAME: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// What keeps clients from compiling an `outputSchema`, if something does.
pub(super) fn fault(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("it is not an object".to_owned());
    }
    if schema.get("$schema").is_some_and(|dialect| !dialect.is_string()) {
        return Some("its `$schema` is not a string".to_owned());
    }
    if let Err(reason) = check_size(schema).and_then(|()| ValidationCost::of(schema)) {
        return Some(reason.replace("its schema", "it"));
    }
    walk(schema).or_else(|| compile(schema).err())
}

fn walk(schema: &Value) -> Option<String> {
    match schema {
        Value::Array(schemas) => schemas.iter().find_map(walk),
        Value::Object(keywords) => own_fault(keywords).or_else(|| {
            keywords.iter().find_map(|(keyword, value)| match value {
                _ if VALUES.contains(&keyword.as_str()) => None,
                Value::Object(named) if BY_NAME.contains(&keyword.as_str()) => named.values().find_map(walk),
                value => walk(value),
            })
        }),
        _ => None,
    }
}

fn own_fault(keywords: &Map<String, Value>) -> Option<String> {
    let no_number =
        NUMBERS.into_iter().find(|name| keywords.get(*name).is_some_and(|value| !value.is_number()));
    if let Some(name) = no_number {
        return Some(format!("its `{name}` is not a number"));
    }
    if keywords.get("id").is_some_and(Value::is_string) {
        return Some("it has an `id`, as in draft 4".to_owned());
    }
    if keywords.contains_key("nullable") && !keywords.contains_key("type") {
        return Some("it has `nullable` without `type`".to_owned());
    }
    if keywords.get("enum").is_some_and(|values| values.as_array().is_none_or(Vec::is_empty)) {
        return Some("its `enum` lists nothing".to_owned());
    }
    let names = keywords.get("patternProperties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(Map::keys).map(String::as_str);
    let mut patterns = keywords.get("pattern").and_then(Value::as_str).into_iter().chain(names);
    let foreign = patterns.find(|pattern| !is_ecmascript(pattern))?;
    Some(format!("its pattern `{foreign}` is not one of ECMAScript"))
}

/// Whether a regular expression is one of ECMAScript with the flag `u`. May be wrong only about odd ones.
fn is_ecmascript(pattern: &str) -> bool {
    let mut rest = pattern.chars().peekable();
    let (mut in_class, mut may_repeat) = (false, false);
    while let Some(next) = rest.next() {
        let is_fine = match next {
            '\\' => rest.next().is_some_and(|escaped| {
                escaped.is_ascii_digit()
                    || "dDwWsSbBnrtfvcxukpP^$\\.*+?()[]{}|/".contains(escaped)
                    || (in_class && escaped == '-')
            }),
            ']' if in_class => {
                in_class = false;
                true
            }
            _ if in_class => true,
            '[' => {
                in_class = true;
                true
            }
            ']' | '}' => false,
            '(' if rest.next_if_eq(&'?').is_some() => match rest.next() {
                Some(':' | '=' | '!') => true,
                Some('<') => rest.peek().is_some_and(|next| "=!".contains(*next) || next.is_alphabetic()),
                _ => false,
            },
            '*' | '+' | '?' | '{' => {
                let is_counted = next != '{' || {
                    let count: String = std::iter::from_fn(|| rest.next_if(|next| *next != '}')).collect();
                    rest.next().is_some()
                        && count.starts_with(|first: char| first.is_ascii_digit())
                        && count.chars().all(|digit| digit.is_ascii_digit() || digit == ',')
                };
                let _ = rest.next_if_eq(&'?');
                let was_repeatable = std::mem::replace(&mut may_repeat, false);
                if !(is_counted && was_repeatable) {
                    return false;
                }
                continue;
            }
            _ => true,
        };
        if !is_fine {
            return false;
        }
        may_repeat = !matches!(next, '^' | '|' | '(') || in_class;
    }
    !in_class
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_clients_cannot_compile_is_known() {
        for fine in [
            json!({}),
            json!({"type": "object", "properties": {"a": {"type": "string", "format": "unknown"}}}),
            json!({"type": "array", "items": {"type": ["string", "null"], "nullable": true}}),
            json!({"properties": {"id": {"const": {"id": "x"}}, "nullable": {"enum": ["a"]}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}}),
            json!({"pattern": "^[\\w\\-.]+(?:\\.\\d{2,4})?$", "patternProperties": {"^(?<year>a+?)[^/]*\\/": {}}}),
        ] {
            assert_eq!(fault(&fine), None, "{fine}");
        }
        for bad in [
            json!(null),
            json!([]),
            json!({"$schema": 1}),
            json!({"type": "strin"}),
            json!({"$ref": "#/nowhere"}),
            json!({"properties": {"a": {"anyOf": [{"nullable": true}]}}}),
            json!({"properties": {"a": {"id": "http://a.example", "type": "string"}}}),
            json!({"items": {"enum": []}}),
            json!({"properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}),
            json!({"pattern": "(?i)a"}),
            json!({"pattern": "(?P<a>b)"}),
            json!({"pattern": "\\Aa\\Z"}),
            json!({"pattern": "a++"}),
            json!({"pattern": "a{"}),
            json!({"pattern": "\\_"}),
            json!({"patternProperties": {"[a": {}}}),
        ] {
            assert!(fault(&bad).is_some(), "{bad}");
        }
    }
}
