//! Checked before they are sent (R127).

use serde_json::{Value, json};
use toolbay_config::Validate;
use toolbay_host::{Host, Naming, RouteTable, Routed};
use toolbay_testkit::TestServer;

use crate::test_host::{ask, dispatch, host, offers};

fn strict() -> TestServer {
    let schema = json!({"type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {"n": {"type": "integer", "maximum": 100}, "deep": {"type": "object",
            "properties": {"list": {"type": "array", "items": {"type": "string"}}}}, "text": {"type": "string"}}});
    TestServer::new("s").with_tool_schema("t", schema, |args| Ok(json!({"got": args["n"]})))
}

async fn call(host: &Host, arguments: Value) -> Value {
    ask(host, "tools/call", json!({"name": "s__t", "arguments": arguments})).await["result"].take()
}

#[tokio::test(start_paused = true)]
async fn invalid_arguments_return_a_failed_result_that_says_where() {
    let server = strict();
    let host = host(&[("s", &server)], Naming::Prefix).await;
    for (arguments, pointer) in [
        (json!({}), "`/`"),
        (json!({"n": "one"}), "`/n`"),
        (json!({"n": 101}), "`/n`"),
        (json!({"n": 1, "other": 1}), "`/`"),
        (json!({"n": 1, "deep": {"list": ["a", 5]}}), "`/deep/list/1`"),
    ] {
        let result = call(&host, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{arguments}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(pointer) && text.contains("s__t"), "{text}");
    }
    assert_eq!(server.handle().count("tools/call"), 0);
    assert_eq!(call(&host, json!({"n": 1})).await["structuredContent"]["got"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_arguments_is_one_with_none() {
    let host = host(&[("s", &strict())], Naming::Prefix).await;
    let result = ask(&host, "tools/call", json!({"name": "s__t"})).await;
    assert_eq!(result["result"]["isError"], true);
}

/// A judgement that could be wrong is none.
#[tokio::test(start_paused = true)]
async fn large_arguments_and_wide_numbers_are_passed_on_unchecked() {
    let server = strict();
    let host = host(&[("s", &server)], Naming::Prefix).await;
    let long = json!({"n": "wrong", "text": "x".repeat(257 * 1024)});
    assert!(call(&host, long).await.get("isError").is_none());
    for wide in ["123456789012345678901234567890", "1.00000000000000000000000000001"] {
        let sent = dispatch(&host, "tools/call", &format!(r#"{{"name":"s__t","arguments":{{"n":{wide}}}}}"#));
        assert!(matches!(sent, Routed::Sent(_)), "{wide}: {sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn whether_to_look_is_up_to_the_server() {
    let host = host(&[("s", &strict())], Naming::Prefix).await;
    for validate in [Validate::Enforce, Validate::Warn, Validate::Off] {
        let table = RouteTable::new(&offers(&host, validate), Naming::Prefix, [1; 4]);
        let route = table.tool("s__t").unwrap();
        assert_eq!(route.validate, validate);
        assert!(!route.validator.as_ref().unwrap().faults(br#"{"n":"x"}"#, true).is_empty());
    }
}

/// A hostile pattern costs little.
#[tokio::test]
async fn a_pattern_that_backtracks_for_ever_is_given_up() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+(?=b)$"}}});
    let server = TestServer::new("s").with_tool_schema("t", schema, |_| Ok(json!(1)));
    let host = host(&[("s", &server)], Naming::Prefix).await;
    let started = std::time::Instant::now();
    let _ = call(&host, json!({"a": "a".repeat(5000)})).await;
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// References that stand for more than a machine can ever check, and alternatives without end.
#[tokio::test]
async fn a_check_that_never_ends_is_not_begun() {
    let mut definitions = serde_json::Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "object"}));
    let doubling =
        json!({"type": "object", "$defs": definitions, "properties": {"x": {"$ref": "#/$defs/d0"}}});
    let wide = json!({"type": "object", "properties": {
        "list": {"items": {"anyOf": vec![json!({"required": ["a"]}); 2300]}}}});
    let server = TestServer::new("s").with_tool_schema("t", doubling, |_| Ok(json!(1))).with_tool_schema(
        "wide",
        wide,
        |_| Ok(json!(2)),
    );
    let host = host(&[("s", &server)], Naming::Prefix).await;
    let started = std::time::Instant::now();
    assert_eq!(call(&host, json!({"x": {}})).await["structuredContent"], 1);
    let many = json!({"name": "s__wide", "arguments": {"list": vec![json!({}); 80_000]}});
    assert_eq!(ask(&host, "tools/call", many).await["result"]["structuredContent"], 2);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    let table = host.table();
    let notes: Vec<&str> = table.notes().map(|(_, note)| note).collect();
    let expected =
        "tool `t`: arguments are not checked: its schema is too large with its references unfolded";
    assert_eq!(notes, [expected]);
    let misfit = ask(&host, "tools/call", json!({"name": "s__wide", "arguments": {"list": [{}]}})).await;
    assert_eq!(misfit["result"]["isError"], true, "few values are still checked");
}
