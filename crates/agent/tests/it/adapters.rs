//! Tools in the formats of model APIs.

use std::sync::Arc;

use serde_json::{Value, json};
use toolbay_agent::{
    Naming, Tool, ToolContext,
    adapter::{ToolSet, anthropic, gemini, openai},
    tool_fn,
};
use toolbay_testkit::TestServer;

use crate::agent;

fn with_schema(schema: Value) -> ToolSet {
    ToolSet::new(vec![tool_fn("t", "Does it.", schema, |arguments| async move { Ok(arguments.to_string()) })])
}

fn rich() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["who", "gone"],
        "properties": {
            "who": {"$ref": "#/$defs/person"},
            "kind": {"const": "fixed"},
            "size": {"type": ["integer", "null"], "exclusiveMinimum": 0},
            "mode": {"oneOf": [{"type": "string", "minLength": 1}, {"type": "boolean"}]},
            "level": {"enum": [1, 2, 3]},
            "tags": {"type": "array"},
            "all": {"allOf": [{"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}}]},
        },
        "additionalProperties": false,
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"},
            "friend": {"$ref": "#/$defs/person"}}, "required": ["name"]}},
    })
}

/// All words that stand in a schema, wherever.
fn words(schema: &Value, found: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    for (word, value) in object {
        found.push(word.clone());
        match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values().for_each(|schema| words(schema, found))
            }
            ("anyOf", Value::Array(choices)) => choices.iter().for_each(|schema| words(schema, found)),
            ("items", schema) => words(schema, found),
            _ => {}
        }
    }
}

#[test]
fn gemini_gets_only_words_that_it_knows() {
    let definitions = gemini::definitions(&with_schema(rich()));
    let parameters = &definitions[0]["functionDeclarations"][0]["parameters"];
    let mut found = Vec::new();
    words(parameters, &mut found);
    for foreign in
        ["$ref", "$defs", "$schema", "oneOf", "allOf", "const", "additionalProperties", "exclusiveMinimum"]
    {
        assert!(!found.iter().any(|word| word == foreign), "{foreign} in {parameters:#}");
    }
    let properties = &parameters["properties"];
    assert_eq!(properties["who"]["properties"]["name"], json!({"type": "string"}));
    assert_eq!(properties["kind"], json!({"type": "string", "enum": ["fixed"]}));
    assert_eq!(properties["size"], json!({"type": "integer", "nullable": true, "minimum": 1}));
    assert_eq!(properties["mode"]["anyOf"][1], json!({"type": "boolean"}));
    assert_eq!(properties["level"]["description"], "One of: 1, 2, 3.");
    assert_eq!(properties["tags"]["items"], json!({"type": "string"}));
    assert_eq!(properties["all"]["properties"]["b"], json!({"type": "integer"}));
    assert_eq!(properties["all"]["required"], json!(["a"]));
    assert_eq!(parameters["required"], json!(["who"]), "only what is there can be required");
    let none = gemini::definitions(&with_schema(json!({"type": "object"})));
    assert!(none[0]["functionDeclarations"][0].get("parameters").is_none());
}

#[tokio::test]
async fn strict_mode_closes_objects_and_added_nulls_are_removed() {
    let schema = json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "minLength": 2, "format": "uri"},
            "b": {"type": "integer", "default": 3},
            "c": {"type": ["string", "null"]},
            "d": {"enum": ["x", "y"]},
            "e": {"type": "array", "items": {"type": "object", "properties": {"f": {"type": "string"}}}},
        },
    });
    let tools = with_schema(schema);
    let function = openai::chat_definitions(&tools, openai::Mode::Strict)[0]["function"].clone();
    assert_eq!(function["strict"], true);
    let parameters = &function["parameters"];
    assert_eq!(parameters["required"], json!(["a", "b", "c", "d", "e"]));
    assert_eq!(parameters["additionalProperties"], false);
    assert_eq!(parameters["properties"]["a"], json!({"type": "string"}));
    assert_eq!(parameters["properties"]["b"], json!({"type": ["integer", "null"]}));
    assert_eq!(parameters["properties"]["d"], json!({"anyOf": [{"enum": ["x", "y"]}, {"type": "null"}]}));
    assert_eq!(parameters["properties"]["e"]["items"]["additionalProperties"], false);

    let arguments = json!({"a": "u", "b": null, "c": null, "d": null, "e": [{"f": null}]}).to_string();
    let response = json!({"choices": [{"message": {"tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "t", "arguments": arguments}}]}}]});
    let done = tools.run(openai::chat_calls(&response), &ToolContext::new()).await;
    let got: Value = serde_json::from_str(&done[0].output.text).unwrap();
    assert_eq!(got, json!({"a": "u", "c": null, "e": [{}]}));
}

#[test]
fn schemas_beyond_strict_mode_are_not_strict() {
    for open in [
        json!({"type": "object", "properties": {"map": {"type": "object", "additionalProperties": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"any": {}}}),
        json!({"type": "object", "properties": {"any": {"type": "object"}}}),
        json!({"type": "object", "properties": {"any": true}}),
    ] {
        let definitions = openai::response_definitions(&with_schema(open.clone()), openai::Mode::Strict);
        assert_eq!(definitions[0]["strict"], false, "{open}");
        assert_eq!(definitions[0]["parameters"]["properties"], open["properties"]);
    }
}

#[test]
fn no_api_gets_a_choice_at_the_top() {
    let schema = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a", "c"]},
        {"$ref": "#/$defs/other"}],
        "$defs": {"other": {"type": "object", "properties": {"b": {"type": "string"}, "c": {}}, "required": ["b", "c"]}}});
    let tools = with_schema(schema);
    let chat = openai::chat_definitions(&tools, openai::Mode::Loose);
    for top in [
        &anthropic::definitions(&tools)[0]["input_schema"],
        &chat[0]["function"]["parameters"],
        &gemini::definitions(&tools)[0]["functionDeclarations"][0]["parameters"],
    ] {
        assert_eq!(top["type"], "object");
        assert!(top.get("anyOf").is_none() && top.get("$ref").is_none(), "{top}");
        let names: Vec<&String> = top["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(top["required"], json!(["c"]));
    }
}

/// A whole turn with tools of a real server, in each format.
#[tokio::test(start_paused = true)]
async fn a_turn_goes_through_in_every_format() {
    let agent = agent(&[("demo", &TestServer::demo())], Naming::Prefix).await;
    let tools = ToolSet::new(agent.as_tools());
    let context = ToolContext::new();

    let asked = json!({"content": [{"type": "text", "text": "let me see"},
        {"type": "tool_use", "id": "t1", "name": "demo__add", "input": {"a": 1, "b": 2}},
        {"type": "tool_use", "id": "t2", "name": "demo__fail", "input": {"text": "oh"}}]});
    let done = tools.run(anthropic::calls(&asked), &context).await;
    assert_eq!(
        anthropic::results(&done),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "{\"sum\":3}"}]},
            {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "oh"}], "is_error": true}]})
    );

    let asked = json!({"choices": [{"message": {"tool_calls": [
        {"id": "c1", "function": {"name": "demo__echo", "arguments": "{\"text\":\"hi\"}"}},
        {"id": "c2", "function": {"name": "demo__echo", "arguments": "{broken"}},
        {"id": "c3", "function": {"name": "nobody", "arguments": ""}}]}}]});
    let results = openai::chat_results(&tools.run(openai::chat_calls(&asked), &context).await);
    assert_eq!(results[0], json!({"role": "tool", "tool_call_id": "c1", "content": "hi"}));
    assert!(results[1]["content"].as_str().unwrap().contains("{broken"), "{results:?}");
    assert!(results[2]["content"].as_str().unwrap().contains("`nobody`"), "{results:?}");

    let asked = json!({"output": [{"type": "reasoning"},
        {"type": "function_call", "call_id": "r1", "name": "demo__echo", "arguments": "{\"text\":\"hi\"}"}]});
    let results = openai::response_results(&tools.run(openai::response_calls(&asked), &context).await);
    assert_eq!(results, [json!({"type": "function_call_output", "call_id": "r1", "output": "hi"})]);

    let asked = json!({"candidates": [{"content": {"parts": [{"text": "so"},
        {"functionCall": {"name": "demo__echo", "args": {"text": "hi"}}}]}}]});
    let results = gemini::results(&tools.run(gemini::calls(&asked), &context).await);
    assert_eq!(
        results,
        json!({"role": "user", "parts": [{"functionResponse": {"name": "demo__echo", "response": {"output": "hi"}}}]})
    );
}

#[tokio::test(start_paused = true)]
async fn images_are_shown_to_models_that_can_see() {
    let server = TestServer::new("s").with_tool("shot", |_| {
        Ok(json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}))
    });
    let agent = agent(&[("s", &server)], Naming::Prefix).await;
    let tools = ToolSet::new(agent.as_tools());
    let asked = json!({"content": [{"type": "tool_use", "id": "t", "name": "s__shot", "input": {}}]});
    let done = tools.run(anthropic::calls(&asked), &ToolContext::new()).await;
    let source = &anthropic::results(&done)["content"][0]["content"][1]["source"];
    assert_eq!(*source, json!({"type": "base64", "media_type": "image/png", "data": "AAAA"}));
}

#[test]
fn names_and_descriptions_fit() {
    let nothing = || json!({"type": "object"});
    let tool = |name: &str, text: &str| -> Arc<dyn Tool> {
        tool_fn(name, text, nothing(), |_| async { Ok(String::new()) })
    };
    let long = "ä".repeat(2000);
    let tools = ToolSet::new(vec![tool("weird name.with:dots", &long), tool(&"n".repeat(100), "")]);
    for (name, _) in tools.iter() {
        assert!(
            name.len() <= 64
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        );
        assert!(tools.get(name).is_some());
    }
    let chat = openai::chat_definitions(&tools, openai::Mode::Loose);
    assert_eq!(chat[0]["function"]["description"].as_str().unwrap().chars().count(), 1024);
}
