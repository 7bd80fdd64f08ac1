//! Results, errors and notifications on their way to a client.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolbay_protocol::{Message, Notification, RequestId, Revision, Rope, method};
use toolbay_translate::{progress, tagged};

use crate::text::got;

const OLD: Revision = Revision::V2025_06_18;
const NEW: Revision = Revision::V2026_07_28;

fn notification(text: &'static str) -> Box<Notification> {
    match Message::parse(text.into()) {
        Ok(Message::Notification(notification)) => notification,
        other => panic!("{text}: {other:?}"),
    }
}

fn text(rope: Rope) -> String {
    String::from_utf8(rope.into_bytes().into()).unwrap()
}

#[test]
fn legacy_and_modern_clients_get_what_they_expect() {
    for (said, method, from, to, expected) in [
        (r#""result":{}"#, method::TOOLS_CALL, OLD, OLD, r#""result":{}"#),
        (r#""result":{}"#, method::TOOLS_CALL, OLD, NEW, r#""result":{"resultType":"complete"}"#),
        (
            r#""result":{"contents":[]}"#,
            method::RESOURCES_READ,
            OLD,
            NEW,
            r#""result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}"#,
        ),
        (
            r#""result":{"ttlMs":5,"resultType":"x"}"#,
            method::RESOURCES_READ,
            OLD,
            NEW,
            r#""result":{"cacheScope":"private","ttlMs":5,"resultType":"x"}"#,
        ),
        (
            r#""result":{"resultType":"complete","a":1,"ttlMs":0,"cacheScope":"private"}"#,
            method::RESOURCES_READ,
            NEW,
            OLD,
            r#""result":{"a":1}"#,
        ),
    ] {
        let said = format!(r#"{{"jsonrpc":"2.0","id":7,{said}}}"#);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":"c",{expected}}}"#);
        assert_eq!(got(&said, method, from, to), expected);
    }
}

#[test]
fn notifications_get_the_token_or_tag_of_the_client() {
    let note = notification(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
    );
    assert_eq!(
        text(progress(&note, "\"mine\"")),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"mine","progress":0.5}}"#
    );
    let id = RequestId::from(5);
    for (params, expected) in [
        ("", r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}"#),
        (r#","params":{"a":1}"#, r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5},"a":1}"#),
        (
            r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x"}}"#,
            r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}"#,
        ),
    ] {
        let note: &'static str = format!(r#"{{"jsonrpc":"2.0","method":"n"{params}}}"#).leak();
        assert_eq!(
            text(tagged(&notification(note), &id)),
            format!(r#"{{"jsonrpc":"2.0","method":"n"{expected}}}"#)
        );
    }
}

proptest! {
    #[test]
    fn there_and_back(fields in prop::collection::btree_map("[a-z]{1,5}", any::<Option<String>>(), 0..6), pretty: bool, read: bool) {
        let result: Value = fields.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        let original = json!({ "jsonrpc": "2.0", "id": "c", "result": result });
        let text = if pretty { serde_json::to_string_pretty(&original) } else { serde_json::to_string(&original) }.unwrap();
        let method = if read { method::RESOURCES_READ } else { method::TOOLS_CALL };
        let there = got(&text, method, OLD, NEW);
        prop_assert!(!there.contains('\n'));
        let back: Value = serde_json::from_str(&got(&there, method, NEW, OLD)).unwrap();
        prop_assert_eq!(back, original);
    }
}
