//! Whatever a schema says, the dialects hold.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolbay_agent::{
    adapter::{ToolSet, anthropic, gemini, openai},
    tool_fn,
};

const WORDS: [&str; 26] = [
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "$ref",
    "$defs",
    "definitions",
    "additionalProperties",
    "description",
    "format",
    "default",
    "minimum",
    "exclusiveMinimum",
    "not",
    "if",
    "pattern",
    "nullable",
    "prefixItems",
    "a",
    "b",
    "$schema",
];

/// JSON that looks like a schema, and often is none.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("object")),
        Just(json!("string")),
        Just(json!("array")),
        Just(json!(["integer", "null"])),
        Just(json!("#/$defs/a")),
        Just(json!("#")),
        Just(json!(true)),
        Just(json!(null)),
        Just(json!(7)),
        Just(json!(["a", "b"])),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            4 => prop::collection::vec((prop::sample::select(&WORDS[..]), inner.clone()), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(word, value)| (word.to_owned(), value)).collect::<Map<_, _>>().into()),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

/// Every schema below this one.
fn below<'a>(schema: &'a Value, all: &mut Vec<&'a Map<String, Value>>) {
    let Some(object) = schema.as_object() else { return };
    all.push(object);
    for (word, value) in object {
        match (word.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                named.values().for_each(|schema| below(schema, all));
            }
            ("anyOf", Value::Array(choices)) => choices.iter().for_each(|schema| below(schema, all)),
            ("items", schema) => below(schema, all),
            _ => {}
        }
    }
}

fn is_plain_object(top: &Value) -> bool {
    top["type"] == "object"
        && ["anyOf", "oneOf", "allOf", "$ref", "enum", "not"].iter().all(|word| top.get(word).is_none())
}

proptest! {
    #[test]
    fn every_dialect_holds(schema in schema()) {
        let tools = ToolSet::new(vec![tool_fn("t", "", schema, |_| async { Ok(String::new()) })]);
        let anthropic = anthropic::definitions(&tools);
        prop_assert!(is_plain_object(&anthropic[0]["input_schema"]), "{anthropic}");
        let strict = openai::response_definitions(&tools, openai::Mode::Strict);
        prop_assert!(is_plain_object(&strict[0]["parameters"]), "{strict}");
        if strict[0]["strict"] == true {
            let mut all = Vec::new();
            below(&strict[0]["parameters"], &mut all);
            for object in all.iter().filter(|schema| schema.get("type") == Some(&json!("object"))) {
                prop_assert_eq!(object.get("additionalProperties"), Some(&json!(false)), "{}", &strict);
                let named = object["properties"].as_object().map_or(0, Map::len);
                prop_assert_eq!(object["required"].as_array().map(Vec::len), Some(named), "{}", &strict);
            }
        }
        let gemini = gemini::definitions(&tools);
        let mut all = Vec::new();
        if let Some(parameters) = gemini[0]["functionDeclarations"][0].get("parameters") {
            below(parameters, &mut all);
        }
        for word in ["$ref", "$defs", "definitions", "$schema", "oneOf", "allOf", "const", "additionalProperties", "not", "if"] {
            prop_assert!(all.iter().all(|schema| !schema.contains_key(word)), "{} in {}", word, &gemini);
        }
    }
}
