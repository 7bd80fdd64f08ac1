use proptest::prelude::*;

use super::*;

const ALL: [SchemaView; 3] = [SchemaView::ANTHROPIC, SchemaView::OPENAI, SchemaView::GEMINI];

fn repaired(view: SchemaView, schema: &Value) -> (Value, RepairedSchema) {
    let repaired = view.repair(schema).unwrap_or_else(|| panic!("nothing to repair in {schema}"));
    (serde_json::from_str(&repaired.text).unwrap(), repaired)
}

#[test]
fn clients_are_known_by_their_names() {
    for (name, view) in [
        ("claude-code", Some(SchemaView::ANTHROPIC)),
        ("claude-ai", Some(SchemaView::ANTHROPIC)),
        ("Visual Studio Code - Insiders", Some(SchemaView::OPENAI)),
        ("github-copilot-developer", Some(SchemaView::OPENAI)),
        ("gemini-cli-mcp-client", Some(SchemaView::GEMINI)),
        ("cursor-vscode", Some(SchemaView::OPENAI)),
        ("mcp-inspector", None),
        ("", None),
    ] {
        assert_eq!(SchemaView::of_client(name), view, "{name}");
    }
}

#[test]
fn what_is_accepted_is_not_touched() {
    let plain = json!({"type": "object", "properties": {
        "a.b-c_D": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "list": {"type": "array", "items": {}}}});
    let referring = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}});
    for view in ALL {
        assert_eq!(view.repair(&plain), None, "nested alternatives are accepted");
    }
    assert_eq!(SchemaView::ANTHROPIC.repair(&referring), None, "references are accepted elsewhere");
    assert_eq!(SchemaView::ANTHROPIC.repair(&json!({"type": "object"})), None);
    assert_eq!(SchemaView::default().repair(&json!({"anyOf": []})), None);
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    let schema = json!({"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"],
        "oneOf": [{"required": ["url"], "properties": {"url": {"type": "string"}}},
                  {"$ref": "#/$defs/data"}],
        "$defs": {"data": {"required": ["data"], "properties": {"data": {"type": "integer"}}}}});
    let (plain, view) = repaired(SchemaView::ANTHROPIC, &schema);
    assert_eq!(plain["required"], json!(["p"]));
    assert_eq!(
        (&plain["properties"]["url"]["type"], &plain["properties"]["data"]["type"]),
        (&json!("string"), &json!("integer"))
    );
    assert!(CHOICES.iter().all(|word| plain.get(word).is_none()) && !view.is_exact, "{plain}");
}

#[test]
fn keys_get_names_that_are_accepted_and_arguments_their_own() {
    let schema = json!({"type": "object", "required": ["StartTime<"], "properties": {
        "StartTime<": {"type": "string", "description": "before"}, "StartTime>": {"type": "string"},
        "filter[name]": {"type": "string"}, "filter_name_": {"type": "string"}, "größe": {"type": "integer"}}});
    let (plain, view) = repaired(SchemaView::ANTHROPIC, &schema);
    let keys: Vec<&String> = plain["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["StartTime_", "StartTime__2", "filter_name_", "filter_name__2", "gr__e"]);
    assert_eq!(plain["required"], json!(["StartTime_"]));
    assert_eq!(plain["properties"]["StartTime__2"]["description"], "StartTime>");
    assert!(view.is_exact);
    let sent =
        br#" {"StartTime_" : "a", "filter_name__2":"\u0041", "filter_name_":1.50,"other":{"StartTime_":1}} "#;
    let restored = view.restore(sent).unwrap();
    assert_eq!(
        std::str::from_utf8(&restored).unwrap(),
        r#" {"StartTime<" : "a", "filter[name]":"\u0041", "filter_name_":1.50,"other":{"StartTime_":1}} "#
    );
    assert_eq!(view.restore(b"{\"other\":1}"), None);
    assert_eq!(view.restore(b"{\"StartTime\\u005f\":1}").unwrap(), b"{\"StartTime<\":1}");
}

#[test]
fn references_are_written_out_for_those_who_know_none() {
    let schema = json!({"type": "object", "properties": {"kind": {"$ref": "#/$defs/kind", "description": "which"}},
        "$defs": {"kind": {"type": "string", "enum": ["a", "b"]}}});
    let (plain, view) = repaired(SchemaView::GEMINI, &schema);
    assert_eq!(
        plain["properties"]["kind"],
        json!({"type": "string", "enum": ["a", "b"], "description": "which"})
    );
    assert!(view.is_exact && !view.text.contains("$"), "{plain}");
    let recursive = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert!(!repaired(SchemaView::GEMINI, &recursive).1.is_exact);
    let (complete, view) = repaired(SchemaView::OPENAI, &json!({"type": "object"}));
    assert_eq!((complete, view.is_exact), (json!({"type": "object", "properties": {}}), true));
}

/// Schemas of a few parts, so that they meet often.
fn schema() -> impl Strategy<Value = Value> {
    let property = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "integer", "minimum": 3}),
        json!({"type": "array"}),
        json!({"$ref": "#/$defs/word"}),
        json!({"$ref": "#/$defs/word", "description": "d"}),
        json!({"$ref": "#/$defs/word", "maxLength": 9}),
        json!({"$ref": "#"}),
        json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/word"}]}),
        json!(true),
    ]);
    let name = || prop::sample::select(vec!["a", "b c", "b_c", "d$", "ä"]);
    let more = prop::sample::select(vec![
        json!({}),
        json!({"additionalProperties": false}),
        json!({"anyOf": [{"required": ["a"]}, {"required": ["b c"], "properties": {"b c": {"type": "string"}}}]}),
        json!({"oneOf": [{"required": ["a"]}, {"required": ["d$"]}]}),
        json!({"allOf": [{"properties": {"ä": {"type": "integer"}}, "required": ["ä"]}]}),
        json!({"if": {"required": ["a"]}, "then": {"required": ["d$"]}}),
        json!({"dependentRequired": {"a": ["b c"]}}),
        json!({"patternProperties": {"^b": {"type": "string"}}}),
        json!({"propertyNames": {"maxLength": 3}}),
    ]);
    let properties = prop::collection::btree_map(name(), property, 0..4);
    (properties, prop::collection::vec(name(), 0..2), more).prop_map(|(properties, required, more)| {
        let mut schema = json!({"type": "object", "properties": properties,
            "$defs": {"word": {"type": "string", "maxLength": 2}}});
        if !required.is_empty() {
            schema["required"] = json!(std::collections::BTreeSet::from_iter(required));
        }
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    })
}

/// Arguments, by names of the server or of a client.
fn arguments() -> impl Strategy<Value = Value> {
    let value = prop::sample::select(vec![
        json!("x"),
        json!("long"),
        json!(1),
        json!(7),
        json!(null),
        json!([]),
        json!({"a": "x"}),
        json!({}),
    ]);
    let name = prop::sample::select(vec!["a", "b c", "b_c", "b_c_2", "d$", "d_", "ä", "_", "e"]);
    prop::collection::btree_map(name, value, 0..4).prop_map(|map| json!(map))
}

fn is_valid(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Arguments that the server accepts can be written by a client with the repaired schema, and come back the same.
    #[test]
    fn what_the_server_accepts_can_be_sent(schema in schema(), arguments in arguments(), view in prop::sample::select(ALL.to_vec())) {
        let Some(repaired) = view.repair(&schema) else { return Ok(()) };
        let shown: Value = serde_json::from_str(&repaired.text).unwrap();
        // A name of the client's that the server does not declare means something else to both.
        let is_ambiguous = repaired.names.iter().any(|(seen, _)| arguments.get(seen).is_some());
        if is_ambiguous || !is_valid(&schema, &arguments) {
            return Ok(());
        }
        let text = arguments.to_string();
        let sent = repaired.apply(text.as_bytes()).unwrap_or_else(|| text.clone().into_bytes());
        let value: Value = serde_json::from_slice(&sent).unwrap();
        prop_assert!(!repaired.is_exact || is_valid(&shown, &value), "{} {} {}", schema, shown, value);
        prop_assert_eq!(repaired.restore(&sent).unwrap_or(sent), text.into_bytes());
    }

    /// Arguments that fit a repaired schema which says exactly the same are those that the server accepts.
    #[test]
    fn what_fits_an_exact_repair_fits_the_schema(schema in schema(), arguments in arguments(), view in prop::sample::select(ALL.to_vec())) {
        let Some(repaired) = view.repair(&schema) else { return Ok(()) };
        let shown: Value = serde_json::from_str(&repaired.text).unwrap();
        // One who uses the server's own names is not a client of this schema.
        let is_foreign = repaired.names.iter().any(|(_, original)| arguments.get(original).is_some());
        if !repaired.is_exact || is_foreign || !is_valid(&shown, &arguments) {
            return Ok(());
        }
        let text = arguments.to_string();
        let restored = repaired.restore(text.as_bytes()).unwrap_or_else(|| text.into_bytes());
        let value: Value = serde_json::from_slice(&restored).unwrap();
        prop_assert!(is_valid(&schema, &value), "{} {} {}", schema, shown, value);
    }

    /// The quick look misses nothing.
    #[test]
    fn what_is_repaired_was_expected_to_be(schema in schema(), view in prop::sample::select(ALL.to_vec())) {
        prop_assert!(view.repair(&schema).is_none() || view.may_repair(schema.to_string().as_bytes()), "{}", schema);
    }

    /// Every repair is one that the client accepts, and needs no other.
    #[test]
    fn a_repaired_schema_needs_no_repair(schema in schema(), view in prop::sample::select(ALL.to_vec())) {
        if let Some(repaired) = view.repair(&schema) {
            let shown: Value = serde_json::from_str(&repaired.text).unwrap();
            prop_assert_eq!(view.repair(&shown), None, "{} {}", schema, shown);
        }
    }
}
