use proptest::prelude::*;
use serde_json::json;

use super::*;

fn written(schema: &Value) -> String {
    type_of(schema, 0)
}

#[test]
fn schemas_become_types() {
    for (schema, expected) in [
        (json!({"type": "string"}), "string"),
        (json!({"type": "integer"}), "number"),
        (json!({"type": ["string", "null"]}), "string | null"),
        (json!({"enum": ["a", "b", 1, null]}), r#""a" | "b" | 1 | null"#),
        (json!({"const": true}), "true"),
        (json!({"type": "array", "items": {"type": "string"}}), "string[]"),
        (json!({"type": "array", "items": {"enum": ["a", "b"]}}), r#"("a" | "b")[]"#),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}),
            "[string, number]",
        ),
        (json!({"type": "array"}), "unknown[]"),
        (json!({"type": "object"}), "Record<string, unknown>"),
        (json!({"type": "object", "properties": {}}), "{}"),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), "Record<string, number>"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b-c": {}}, "required": ["a"]}),
            r#"{ a: string; "b-c"?: unknown }"#,
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "number"}}}]}),
            "string | { a?: number }",
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "allOf": [{"properties": {"b": {"type": "null"}}}]}),
            "{ a?: unknown } & { b?: null }",
        ),
        (json!(true), "unknown"),
        (json!(false), "never"),
        (json!({}), "unknown"),
    ] {
        assert_eq!(written(&schema), expected, "{schema}");
    }
}

#[test]
fn references_are_followed_until_they_repeat() {
    let schema = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/tree" } },
        "required": ["tree"],
        "$defs": { "tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/tree" }, "name": { "type": "string" } } } },
    });
    assert_eq!(written(&schema), "{ tree: { left?: unknown; name?: string } }");
    assert_eq!(written(&json!({"$ref": "https://example.com/schema"})), "unknown");
}

#[test]
fn a_schema_that_unfolds_without_end_stays_short() {
    let mut definitions = Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        let properties: Map<String, Value> = (0..10).map(|name| (format!("p{name}"), next.clone())).collect();
        definitions.insert(format!("d{level}"), json!({ "type": "object", "properties": properties }));
    }
    let schema = json!({ "$ref": "#/$defs/d0", "$defs": definitions });
    assert!(written(&schema).len() < 100_000);
}

#[test]
fn tools_are_grouped_by_server() {
    let schema = json!({
        "type": "object",
        "properties": { "title": { "type": "string", "description": "Its\ntitle */ evil()" }, "draft": { "type": "boolean" } },
        "required": ["title"],
    });
    let none = json!({ "type": "object", "properties": {} });
    let output = json!({ "type": "object", "properties": { "number": { "type": "integer" } }, "required": ["number"] });
    let tool = |server, name, input_schema, output_schema| ToolSignature {
        server,
        name,
        description: (name == "create_issue").then_some("Creates an issue."),
        input_schema,
        output_schema,
    };
    let text = declarations([
        tool("github", "create_issue", &schema, Some(&output)),
        tool("my-files", "list-all", &none, None),
        tool("github", "whoami", &none, None),
    ]);
    assert_eq!(
        text,
        r#"declare const tools: {
  github: {
    /** Creates an issue. */
    create_issue(args: {
      /** Its title * / evil() */
      title: string;
      draft?: boolean;
    }): Promise<{ number: number }>;
    whoami(): Promise<any>;
  };
  "my-files": {
    "list-all"(): Promise<any>;
  };
};
"#
    );
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        prop_oneof!["string", "integer", "object", "array", "null"].prop_map(|name| json!({ "type": name })),
        proptest::collection::vec("[\\PC\"\\\\]{0,8}", 0..4).prop_map(|values| json!({ "enum": values })),
        Just(json!({ "$ref": "#" })),
        Just(json!({ "type": 7, "enum": "x", "anyOf": {}, "properties": [], "required": 1 })),
    ];
    leaf.prop_recursive(5, 60, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|choices| json!({ "anyOf": choices })),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|choices| json!({ "allOf": choices })),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            (proptest::collection::btree_map("\\PC{0,6}", inner, 0..5), "\\PC{0,20}").prop_map(
                |(properties, description)| json!({ "type": "object", "description": description, "properties": properties })
            ),
        ]
    })
}

proptest! {
    /// Whatever a server sends, brackets of the type are balanced, so that it cannot change what is declared around it.
    #[test]
    fn brackets_are_always_balanced(schema in schemas()) {
        let text = written(&schema);
        let (mut open, mut in_string, mut escaped, mut comment) = (Vec::new(), false, false, false);
        let bytes = text.as_bytes();
        for (place, byte) in bytes.iter().enumerate() {
            if comment {
                comment = !(*byte == b'/' && bytes[place - 1] == b'*');
                continue;
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                _ if in_string => prop_assert_ne!(*byte, b'\n'),
                b'*' if place > 0 && bytes[place - 1] == b'/' => comment = true,
                b'{' | b'[' | b'(' | b'<' => open.push(*byte),
                b'}' => prop_assert_eq!(open.pop(), Some(b'{')),
                b']' => prop_assert_eq!(open.pop(), Some(b'[')),
                b')' => prop_assert_eq!(open.pop(), Some(b'(')),
                b'>' => prop_assert_eq!(open.pop(), Some(b'<')),
                _ => {}
            }
        }
        prop_assert!(open.is_empty() && !in_string && !comment, "{}", text);
    }
}
