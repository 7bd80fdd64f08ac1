//! Requests on their way to a server.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolbay_protocol::{Message, Request, RequestId, Revision, method};
use toolbay_translate::{ClientIdentity, RequestEdits, request};

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

fn parse(text: &[u8]) -> Box<Request> {
    match Message::parse(Bytes::copy_from_slice(text)) {
        Ok(Message::Request(request)) => request,
        other => panic!("{:?}: {other:?}", String::from_utf8_lossy(text)),
    }
}

/// `text` as a server of another revision gets it, under id 99.
fn sent(text: &str, wants_progress: bool, from: Revision, to: Revision) -> String {
    let identity = ClientIdentity::new(from, "{\n\"name\":\"c\"}", "{}"); // as a client may have written it
    let change = RequestEdits {
        id: &RequestId::from(99),
        renamed: &[],
        wants_progress,
        only_as_task: false,
        awaits_tasks: false,
    };
    let rope = request(&parse(text.as_bytes()), &change, from, to, &identity);
    String::from_utf8(rope.into_bytes().into()).unwrap()
}

#[test]
fn legacy_and_modern_servers_get_what_they_need() {
    let call =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let modern = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{ "name":"c"},"io.modelcontextprotocol/clientCapabilities":{}"#;
    for (params, progress, from, to, expected) in [
        (r#"{"name":"a"}"#, false, OLD, OLD, r#"{"name":"a"}"#.to_owned()),
        (r#"{"name":"a"}"#, true, OLD, OLD, r#"{"_meta":{"progressToken":99},"name":"a"}"#.to_owned()),
        (
            r#"{"_meta":{"progressToken":"t"}}"#,
            false,
            OLD,
            OLD,
            r#"{"_meta":{"progressToken":99}}"#.to_owned(),
        ),
        (r#"{"_meta":5}"#, true, OLD, OLD, r#"{"_meta":{"progressToken":99}}"#.to_owned()),
        (r#"{"name":"a"}"#, false, OLD, NEW, format!(r#"{{"_meta":{{{modern}}},"name":"a"}}"#)),
        (
            r#"{"_meta":{"x":1.0}}"#,
            true,
            OLD,
            NEW,
            format!(r#"{{"_meta":{{"x":1.0,{modern},"progressToken":99}}}}"#),
        ),
        (&format!(r#"{{"_meta":{{{modern},"x":1}}}}"#), false, NEW, OLD, r#"{"_meta":{"x":1}}"#.to_owned()),
        (
            &format!(r#"{{"_meta":{{{modern}}}}}"#),
            true,
            NEW,
            OLD,
            r#"{"_meta":{"progressToken":99}}"#.to_owned(),
        ),
    ] {
        let expected = call(&expected).replace("\"id\":1", "\"id\":99");
        assert_eq!(sent(&call(params), progress, from, to), expected, "{params}");
    }
    assert_eq!(
        sent(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, true, OLD, OLD),
        r#"{"jsonrpc":"2.0","id":99,"method":"ping","params":{"_meta":{"progressToken":99}}}"#
    );
}

#[test]
fn a_server_gets_no_parameters_that_it_does_not_know() {
    let message = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":99,"method":"{method}","params":{params}}}"#)
    };
    let (call, complete) = (method::TOOLS_CALL, method::COMPLETE);
    for (method, params, progress, from, to, expected) in [
        // A retry, to a server that knows none.
        (
            call,
            r#"{"inputResponses":{"a":{}},"name":"a","requestState":"s"}"#,
            false,
            NEW,
            OLD,
            r#"{"name":"a"}"#,
        ),
        (
            call,
            r#"{"inputResponses":{},"name":"a"}"#,
            true,
            NEW,
            OLD,
            r#"{"_meta":{"progressToken":99},"name":"a"}"#,
        ),
        (call, r#"{ "requestState":"s" }"#, true, NEW, OLD, r#"{"_meta":{"progressToken":99}}"#),
        (call, r#"{"requestState":"s"}"#, false, NEW, OLD, "{}"),
        (call, r#"{"requestState":"s"}"#, false, NEW, NEW, r#"{"requestState":"s"}"#),
        // A task, to a server that knows none.
        (call, r#"{"name":"a","task":{}}"#, false, OLD, Revision::V2025_06_18, r#"{"name":"a"}"#),
        (call, r#"{"name":"a","task":{}}"#, false, OLD, OLD, r#"{"name":"a","task":{}}"#),
        // The context of a completion.
        (complete, r#"{"ref":{},"context":{}}"#, false, OLD, Revision::V2025_03_26, r#"{"ref":{}}"#),
        (complete, r#"{"ref":{},"context":{}}"#, false, NEW, Revision::V2024_11_05, r#"{"ref":{}}"#),
        (
            complete,
            r#"{"ref":{},"context":{}}"#,
            false,
            OLD,
            Revision::V2025_06_18,
            r#"{"ref":{},"context":{}}"#,
        ),
        (
            call,
            r#"{"name":"a","context":{}}"#,
            false,
            OLD,
            Revision::V2025_03_26,
            r#"{"name":"a","context":{}}"#,
        ),
    ] {
        let got = sent(&message(method, params), progress, from, to);
        assert_eq!(got, message(method, expected), "{from} → {to}");
    }
    let got = sent(&message(call, r#"{"name":"a","task":{}}"#), false, OLD, NEW);
    assert!(!got.contains("task") && got.ends_with(r#""name":"a"}}"#), "{got}");
}

#[test]
fn capabilities_are_translated_for_the_server() {
    let original = parse(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#);
    let change = RequestEdits {
        id: &RequestId::from(1),
        renamed: &[],
        wants_progress: false,
        only_as_task: false,
        awaits_tasks: false,
    };
    let client = ClientIdentity::new(OLD, "{}", r#"{"roots":{"listChanged":true},"tasks":{}}"#);
    let got = String::from_utf8(request(&original, &change, OLD, NEW, &client).into_bytes().into()).unwrap();
    assert!(got.contains(r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}}}"#), "{got}");
    // Tasks are what the hub can do for its client.
    let change = RequestEdits { awaits_tasks: true, ..change };
    let got = String::from_utf8(request(&original, &change, OLD, NEW, &client).into_bytes().into()).unwrap();
    let expected = r#"Capabilities":{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    assert!(got.contains(expected), "{got}");
    let got = String::from_utf8(request(&original, &change, NEW, NEW, &client).into_bytes().into()).unwrap();
    assert!(!got.contains("extensions"), "{got}");
}

#[test]
fn what_goes_need_not_be_renamed() {
    let original =
        parse(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s"}}"#);
    let renamed = ["name", "requestState"]
        .map(|name| (original.call.param(name).unwrap(), Bytes::from_static(b"\"new\"")));
    let change = RequestEdits {
        id: &RequestId::from(1),
        renamed: &renamed,
        wants_progress: false,
        only_as_task: false,
        awaits_tasks: false,
    };
    let client = ClientIdentity::new(NEW, "{}", "{}");
    let got = request(&original, &change, NEW, OLD, &client).into_bytes();
    assert_eq!(got, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"new"}}"#);
}

/// Any small value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::Null)
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,4}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn there_and_back(arguments in value(), meta in prop::option::of(prop::collection::btree_map("[a-z]{1,5}", value(), 0..4)), pretty: bool) {
        let mut params = json!({ "name": "a", "arguments": arguments });
        if let Some(meta) = meta {
            params["_meta"] = meta.into_iter().collect();
        }
        let original = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params });
        let text = if pretty { serde_json::to_string_pretty(&original) } else { serde_json::to_string(&original) }.unwrap();
        let there = sent(&text, false, OLD, NEW);
        prop_assert!(!there.contains('\n'));
        let mut back: Value = serde_json::from_str(&sent(&there, false, NEW, OLD)).unwrap();
        if original["params"].get("_meta").is_none() {
            prop_assert_eq!(&back["params"]["_meta"], &json!({}));
            back["params"].as_object_mut().unwrap().remove("_meta");
        }
        prop_assert_eq!(back, original);
    }

    #[test]
    fn any_request_stays_one(params in value(), meta in value(), from in 0_usize..5, to in 0_usize..5, progress: bool) {
        let params = match params { Value::Object(_) => params, other => json!({ "x": other, "_meta": meta }) };
        let text = json!({ "jsonrpc": "2.0", "id": "a", "method": "m", "params": params }).to_string();
        parse(sent(&text, progress, Revision::ALL[from], Revision::ALL[to]).as_bytes());
    }
}

#[test]
fn what_runs_only_as_a_task_is_requested_as_one() {
    let params = |text: &str, from, to| {
        let original = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{text}}}"#);
        let client = ClientIdentity::new(from, "{}", "{}");
        let id = RequestId::from(1);
        let change = RequestEdits {
            id: &id,
            renamed: &[],
            wants_progress: true,
            only_as_task: true,
            awaits_tasks: true,
        };
        let sent = request(&parse(original.as_bytes()), &change, from, to, &client).into_bytes();
        serde_json::from_slice::<serde_json::Value>(&sent).unwrap()["params"].take()
    };
    let (v06, v11) = (Revision::V2025_06_18, Revision::V2025_11_25);
    for (text, from, to, task) in [
        (r#"{"name":"a"}"#, NEW, v11, Some("{}")),
        (r#"{"name":"a","task":{"ttl":1}}"#, NEW, v11, Some("{}")),
        (r#"{"name":"a","_meta":{}}"#, v06, v11, Some("{}")),
        (r#"{"name":"a","task":{"ttl":1}}"#, v06, v11, Some(r#"{"ttl":1}"#)),
        // Its client knows what to do.
        (r#"{"name":"a"}"#, v11, v11, None),
        (r#"{"name":"a","task":{"ttl":1}}"#, v11, v11, Some(r#"{"ttl":1}"#)),
        (r#"{"name":"a"}"#, NEW, v06, None),
        (r#"{"name":"a"}"#, v06, NEW, None),
    ] {
        let params = params(text, from, to);
        let task = task.map(|task| serde_json::from_str(task).unwrap());
        assert_eq!(params.get("task"), task.as_ref(), "{text} {from} {to}: {params}");
        assert_eq!((&params["name"], &params["_meta"]["progressToken"]), (&"a".into(), &1.into()));
    }
}
