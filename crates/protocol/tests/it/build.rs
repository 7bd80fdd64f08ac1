//! Messages that we write, and the one line they stand on.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, value::RawValue};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, RequestId, Rope, error, notification, request, result,
};

use crate::json;

fn is_one_message(text: Bytes) {
    assert!(!text.iter().any(|byte| matches!(byte, b'\n' | b'\r')), "{text:?}");
    Message::parse(text).unwrap();
}

#[test]
fn raw_values_on_several_lines_make_one() {
    let id = RequestId::from(1);
    let object = "{\n  \"a\": \"\\n\"\r\n}";
    is_one_message(request(&id, "a\n", Some(object)));
    is_one_message(request(&id, "a", None));
    is_one_message(notification("a", Some(object)));
    is_one_message(notification("a\"", None));
    is_one_message(result(&id, object));
    let mut failure = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "a\nb");
    failure.data = Some(RawValue::from_string(object.to_owned()).unwrap());
    is_one_message(error(None, &failure));
    is_one_message(error(Some(&id), &failure));
}

#[test]
fn small_ropes_are_one_piece_and_large_ones_are_not_copied() {
    let rope = |sizes: &[usize]| {
        Rope::from_pieces(sizes.iter().map(|&size| Bytes::from(vec![b'x'; size])).collect())
    };
    for (sizes, pieces) in [(&[][..], 1), (&[1, 2][..], 1), (&[8000, 191][..], 1), (&[8000, 0, 192][..], 2)] {
        let rope = rope(sizes);
        assert_eq!(rope.pieces().len(), pieces, "{sizes:?}");
        assert_eq!(rope.len(), sizes.iter().sum::<usize>());
        assert_eq!(rope.into_bytes().len(), sizes.iter().sum::<usize>());
    }
}

proptest! {
    #[test]
    fn one_line_keeps_the_value(text in json::value(), cut in any::<prop::sample::Index>()) {
        let bytes = Bytes::from(text.clone());
        let cut = cut.index(bytes.len());
        let mut pieces = smallvec::SmallVec::new();
        pieces.extend([bytes.slice(..cut), bytes.slice(cut..)]);
        let line = Rope::from_pieces(pieces).on_one_line().into_bytes();
        let blanks = text.replace(['\n', '\r'], " ");
        prop_assert_eq!(std::str::from_utf8(&line).unwrap(), blanks.as_str());
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
            prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&line).unwrap(), value);
        }
    }
}

#[test]
fn a_request_is_written_with_its_method_and_id() {
    let text = toolbay_protocol::request(&1.into(), toolbay_protocol::method::TOOLS_LIST, None);
    let text = std::str::from_utf8(&text).unwrap();
    assert!(text.contains(r#""method":"tools/list""#), "{text}");
    assert!(text.contains(r#""jsonrpc":"2.0""#) && text.contains(r#""id":1"#), "{text}");
}

#[test]
fn a_message_is_built_as_a_value() {
    let request = Message::request(1, "tools/list", serde_json::json!({"cursor": "a"})).unwrap();
    assert_eq!(
        request.to_string(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a"}}"#
    );
    let named = Message::request("a \"b\"", "ping", Value::Null).unwrap();
    assert_eq!(named.to_string(), r#"{"jsonrpc":"2.0","id":"a \"b\"","method":"ping"}"#);
    let Message::Request(named) = named else { panic!("{named}") };
    assert_eq!(named.id, RequestId::from("a \"b\""));
    let told = Message::notification("notifications/initialized", Value::Null).unwrap();
    assert_eq!(told.to_string(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let Message::Response(done) = Message::result(1, serde_json::json!({"ok": true})).unwrap() else {
        panic!()
    };
    assert_eq!(done.result_text(), Some(r#"{"ok":true}"#));
    let why = ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, "no such method");
    let Message::Response(failed) = Message::error("x", &why).unwrap() else { panic!() };
    assert_eq!(failed.error().unwrap().message, "no such method");
    assert!(Message::request(1, "x", serde_json::json!("text")).is_err(), "params are an object");
    assert!(Message::request("x".repeat(2000).as_str(), "x", Value::Null).is_err(), "the id is too long");
}
