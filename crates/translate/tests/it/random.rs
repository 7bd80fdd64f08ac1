//! Any message between any two revisions.

use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use toolbay_protocol::{Message, RequestId, Revision, method};
use toolbay_translate::{
    ClientCapabilities, ClientIdentity, RequestEdits, capabilities_for_server, input_requests,
    request as translate, retry, tool_for, translate_client_response, translate_server_request,
    url_elicitations,
};

use crate::text::{got, request, response};

/// Words that the steps look for, and some that they do not.
const WORDS: &[&str] = &[
    "type",
    "audio",
    "resource_link",
    "text",
    "array",
    "string",
    "object",
    "url",
    "form",
    "input_required",
    "complete",
    "data",
    "mimeType",
    "uri",
    "name",
    "x",
];
const KEYS: &[&str] = &[
    "type",
    "content",
    "messages",
    "structuredContent",
    "resultType",
    "inputRequests",
    "requestState",
    "inputResponses",
    "mode",
    "url",
    "elicitationId",
    "requestedSchema",
    "properties",
    "required",
    "oneOf",
    "const",
    "title",
    "tools",
    "toolChoice",
    "task",
    "_meta",
    "progressToken",
    "data",
    "mimeType",
    "uri",
    "name",
    "method",
    "params",
    "elicitations",
    "elicitation",
    "sampling",
    "roots",
    "listChanged",
    "outputSchema",
    "inputSchema",
    "context",
    "x",
];
const METHODS: &[&str] = &[
    method::TOOLS_CALL,
    method::PROMPTS_GET,
    method::RESOURCES_READ,
    method::COMPLETE,
    method::ELICIT,
    method::SAMPLE,
    method::ROOTS_LIST,
];

/// Any value made of such words.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => select(WORDS).prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => ".{0,5}".prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            2 => prop::collection::vec((select(KEYS), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((select(KEYS), value()), 0..6)
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn revision() -> impl Strategy<Value = Revision> {
    select(&Revision::ALL[..])
}

fn written(value: &Value, pretty: bool) -> String {
    if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.unwrap()
}

/// A block that every revision from `since` on knows.
fn block() -> impl Strategy<Value = (Revision, Value)> {
    let (first, audio, link) = (Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18);
    prop_oneof![
        any::<String>().prop_map(move |text| (first, json!({ "type": "text", "text": text }))),
        Just((first, json!({ "type": "image", "data": "", "mimeType": "image/png" }))),
        Just((first, json!({ "type": "resource", "resource": { "uri": "a:b", "text": "resource_link" } }))),
        Just((audio, json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }))),
        Just((link, json!({ "type": "resource_link", "uri": "a:b", "name": "audio" }))),
    ]
}

proptest! {
    #[test]
    fn a_response_stays_one_and_is_stable(outcome in object(), error: bool, code in select(&[-32002, -32020, -32042, -32602][..]), method in select(METHODS), from in revision(), to in revision(), pretty: bool) {
        let message = if error {
            json!({ "jsonrpc": "2.0", "id": "c", "error": { "code": code, "message": "m", "data": outcome } })
        } else {
            json!({ "jsonrpc": "2.0", "id": "c", "result": outcome })
        };
        let there = got(&written(&message, pretty), method, from, to);
        prop_assert!(!there.contains(['\n', '\r']));
        response(&there);
        prop_assert_eq!(&got(&there, method, to, to), &there);
        prop_assert_eq!(&got(&there, method, from, to), &there, "a second time");
    }

    #[test]
    fn what_both_can_say_comes_back(blocks in prop::collection::vec(block(), 1..4), structured in prop::option::of(object()), from in revision(), to in revision(), pretty: bool) {
        let common = from.min(to);
        let content: Vec<_> = blocks.into_iter().filter(|(since, _)| *since <= common).map(|(_, block)| block).collect();
        prop_assume!(!content.is_empty());
        let mut result = json!({ "content": content });
        if let Some(structured) = structured {
            result["structuredContent"] = structured;
        }
        if from.is_modern() {
            result["resultType"] = "complete".into();
        }
        let original = json!({ "jsonrpc": "2.0", "id": "c", "result": result });
        let there = got(&written(&original, pretty), method::TOOLS_CALL, from, to);
        let back = got(&there, method::TOOLS_CALL, to, from);
        prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), original);
    }

    #[test]
    fn server_requests_stay_json(params in object(), method in select(METHODS), from in revision(), to in revision(), pretty: bool) {
        let text = written(&params, pretty);
        if let Ok(there) = translate_server_request(method, Some(&text), from, to, "id") {
            prop_assert!(serde_json::from_str::<Value>(&there).unwrap().is_object());
            let again = translate_server_request(method, Some(&there), from, to, "other");
            prop_assert_eq!(again.as_ref(), Ok(&there));
            if from == to {
                prop_assert_eq!(&there, &text);
            }
        }
        let there = translate_client_response(method, &text, from, to);
        prop_assert!(serde_json::from_str::<Value>(&there).unwrap().is_object());
        prop_assert_eq!(&translate_client_response(method, &there, from, to), &there);
    }

    #[test]
    fn forms_come_back(properties in prop::collection::btree_map("[a-z]{1,4}", select(&["string", "number", "integer", "boolean"][..]), 0..4), from in revision(), to in revision()) {
        prop_assume!(from.min(to) >= Revision::V2025_06_18);
        let properties: Value = properties.into_iter().map(|(name, kind)| (name, json!({ "type": kind, "default": null }))).collect();
        let text = json!({ "message": "m", "requestedSchema": { "type": "object", "properties": properties } }).to_string();
        let there = translate_server_request(method::ELICIT, Some(&text), from, to, "id").unwrap();
        prop_assert_eq!(translate_server_request(method::ELICIT, Some(&there), to, from, "id").unwrap(), text);
    }

    #[test]
    fn definitions_and_capabilities_stay_json(item in object(), revision in revision(), pretty: bool) {
        let text = written(&item, pretty);
        let tool = tool_for(text.as_bytes(), revision).into_owned();
        prop_assert!(serde_json::from_slice::<Value>(&tool).unwrap().is_object());
        prop_assert_eq!(&*tool_for(&tool, revision), &tool[..]);
        let capabilities = capabilities_for_server(&text, revision);
        prop_assert!(serde_json::from_str::<Value>(&capabilities).unwrap().is_object());
        prop_assert_eq!(&capabilities_for_server(&capabilities, revision), &capabilities);
        // What a server is told can be asked is what can be asked.
        let (before, after) = (ClientCapabilities::parse(&text, revision), ClientCapabilities::parse(&capabilities, Revision::LATEST));
        prop_assert_eq!(before, after);
    }

    #[test]
    fn a_request_stays_one(params in object(), method in select(METHODS), from in revision(), to in revision(), progress: bool, only_as_task: bool, pretty: bool) {
        let text = written(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }), pretty);
        let id = RequestId::from(99);
        let change = RequestEdits { id: &id, renamed: &[], wants_progress: progress, only_as_task, awaits_tasks: only_as_task };
        let client = ClientIdentity::new(from, "{}", "{}");
        let there = translate(&request(&text), &change, from, to, &client).into_bytes();
        let Ok(Message::Request(once)) = Message::parse(there.clone()) else { panic!("{there:?}") };
        prop_assert!(!there.contains(&b'\n'));
        // Not the same text: a task that is asked for again may stand elsewhere among the parameters.
        let again = translate(&once, &change, from, to, &client).into_bytes();
        let value = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
        prop_assert_eq!(value(&again), value(&there), "a second time");
    }

    #[test]
    fn a_retry_is_a_request(params in object(), responses in prop::collection::vec((".{0,5}", object()), 0..3)) {
        let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let responses: Vec<_> = responses.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        let once = retry(&request(&text), &responses, Some("\"s\""));
        let Ok(Message::Request(once)) = Message::parse(once) else { panic!("no request") };
        prop_assert!(once.call.string_param("requestState").is_some_and(|state| state == "s"));
        let none = retry(&once, &[], None);
        let mut without: Value = serde_json::from_str(&text).unwrap();
        let fields = without["params"].as_object_mut().unwrap();
        fields.remove("inputResponses");
        fields.remove("requestState");
        prop_assert_eq!(serde_json::from_slice::<Value>(&none).unwrap(), without);
    }

    #[test]
    fn any_result_can_be_looked_into(outcome in object(), page: bool) {
        let message = if page {
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32042, "message": "m", "data": outcome } })
        } else {
            json!({ "jsonrpc": "2.0", "id": 1, "result": outcome })
        };
        let read = response(&message.to_string());
        for asks in [input_requests(&read), url_elicitations(&read)].into_iter().flatten() {
            let again = response(&json!({ "jsonrpc": "2.0", "id": 1, "result": serde_json::from_str::<Value>(&asks.to_result()).unwrap() }).to_string());
            let again = input_requests(&again).unwrap();
            prop_assert_eq!(again.requests.len(), asks.requests.len());
            prop_assert_eq!(again.request_state, asks.request_state);
        }
    }
}
