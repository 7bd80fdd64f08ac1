//! What may enter the table.

use serde_json::{Value, json};
use toolbay_host::{CatalogKind, Naming};

use crate::test_host::{host, names, owner, server};

/// Why a tool with this description or schema is set aside; nothing when it is not.
async fn reason(more: Value) -> Option<String> {
    let good: Vec<String> = (0..19).map(|n| format!("good{n}")).collect();
    let mut tools: Vec<&str> = good.iter().map(String::as_str).collect();
    tools.insert(7, "bad");
    let host = host(&[("s", &server("s", &tools).describe_tool("bad", more))], Naming::Prefix).await;
    let table = host.table();
    let listed = names(&table, CatalogKind::Tools);
    assert!(good.iter().all(|name| listed.contains(&format!("s__{name}"))), "the others stay: {listed:?}");
    assert_eq!(owner(&host, "s__good3").await, "s");
    match &table.quarantined[..] {
        [] => {
            assert_eq!(listed.len(), 20);
            None
        }
        [one] => {
            assert_eq!(listed.len(), 19);
            assert!(table.tool("s__bad").is_none());
            Some(one.reason.clone())
        }
        many => panic!("{many:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn one_bad_tool_is_set_aside_and_the_others_stay() {
    let deep = (0..40).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    for (more, expected) in [
        (json!({"inputSchema": {"type": "object", "description": "x".repeat(100 * 1024)}}), "bytes long"),
        (json!({"outputSchema": {"type": "object", "description": "x".repeat(100 * 1024)}}), "outputSchema"),
        (json!({"inputSchema": {"type": "string"}}), "arguments are an object"),
        (json!({"inputSchema": {"type": ["string", "null"]}}), "arguments are an object"),
        (
            json!({"inputSchema": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
            "arguments are an object",
        ),
        (json!({"inputSchema": {"type": "object", "properties": null}}), "not usable"),
        (json!({"inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}), "not usable"),
        (json!({"inputSchema": {"type": "object", "required": "a"}}), "not usable"),
        (
            json!({"inputSchema": {"properties": {"a": {"$ref": "https://evil.example.com/s.json"}}}}),
            "not usable",
        ),
        (json!({"inputSchema": {"properties": {"a": {"$ref": "file:///etc/passwd"}}}}), "not usable"),
        (json!({"inputSchema": {"properties": {"a": {"$ref": "#/nowhere"}}}}), "not usable"),
        (json!({"inputSchema": {"properties": {"a": {"pattern": "("}}}}), "not usable"),
        (json!({"inputSchema": true}), ""),
        (json!({"inputSchema": "text"}), ""),
        (json!({"inputSchema": null}), ""),
        (json!({"description": "x".repeat(9 * 1024)}), "description"),
        (json!({"name": ""}), "empty"),
        (json!({"name": 5}), ""),
        (json!({"name": "x".repeat(129)}), "longer than 128"),
        (json!({"name": "a\u{1b}[31m"}), "control"),
    ] {
        let found = reason(more.clone()).await;
        let shown: String = more.to_string().chars().take(100).collect();
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{shown}: {found:?}");
    }
    for fine in [
        json!({"inputSchema": {}}),
        json!({"inputSchema": {"type": ["object", "null"]}}),
        json!({"inputSchema": {"type": "object", "additionalProperties": false, "unknownKeyword": 1}}),
        json!({"inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}}),
        json!({"inputSchema": {"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}}),
        json!({"inputSchema": deep}),
        json!({"annotations": {"readOnlyHint": true}, "title": "T", "futureField": [1, 2]}),
    ] {
        let found = reason(fine.clone()).await;
        assert!(found.is_none(), "{found:?}");
    }
}

/// Clients on the official SDKs refuse a whole list where one tool does not say this.
#[tokio::test(start_paused = true)]
async fn every_listed_schema_is_about_objects() {
    for (written, listed) in [
        (json!({}), json!({"type": "object"})),
        (json!({"type": ["object", "null"], "title": "T"}), json!({"type": "object", "title": "T"})),
        (
            json!({"anyOf": [{"type": "object"}, {"type": "string"}]}),
            json!({"type": "object", "anyOf": [{"type": "object"}, {"type": "string"}]}),
        ),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "required": ["x"]}}}),
            json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "required": ["x"]}}}),
        ),
    ] {
        let server = server("s", &["t"]).describe_tool("t", json!({ "inputSchema": written }));
        let host = host(&[("s", &server)], Naming::Prefix).await;
        assert_eq!(crate::test_host::items(&host.table(), CatalogKind::Tools)[0]["inputSchema"], listed);
    }
}

/// A field that a tool can do without does not take the tool with it, nor the whole list of some client.
#[tokio::test(start_paused = true)]
async fn fields_of_the_wrong_type_are_left_out_and_noted() {
    let more = json!({"title": null, "description": 5, "annotations": {"readOnlyHint": "yes"}, "icons": [{}],
        "_meta": [], "execution": "later", "outputSchema": {"type": "strin"}, "futureField": null});
    let server = server("s", &["t", "u"]).describe_tool("t", more);
    let host = host(&[("s", &server)], Naming::Prefix).await;
    let table = host.table();
    let listed = &crate::test_host::items(&table, CatalogKind::Tools)[0];
    let fields: Vec<&str> = listed.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["futureField", "inputSchema", "name"], "{listed}");
    let notes: Vec<&str> = table.notes().map(|(_, note)| note).collect();
    assert_eq!(notes.len(), 7, "{notes:?}");
    assert!(notes.contains(&"tool `t`: `title` is removed: it is not a string"), "{notes:?}");
    assert_eq!(owner(&host, "s__t").await, "s");
    assert!(table.quarantined.is_empty(), "{:?}", table.quarantined);
}

/// What we do not know of is passed on as it is.
#[tokio::test(start_paused = true)]
async fn a_listed_tool_keeps_all_its_fields() {
    let more = json!({"annotations": {"readOnlyHint": true}, "futureField": [1, {"a": 1.50}], "title": "T"});
    let host = host(&[("s", &server("s", &["t"]).describe_tool("t", more.clone()))], Naming::Prefix).await;
    let listed = &crate::test_host::items(&host.table(), CatalogKind::Tools)[0];
    assert_eq!(listed["name"], "s__t");
    for (key, value) in more.as_object().unwrap() {
        assert_eq!(&listed[key], value);
    }
}
