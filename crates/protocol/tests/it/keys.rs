//! Keys that two readers might understand differently.

use bytes::Bytes;
use proptest::prelude::*;
use toolbay_protocol::{
    ErrorCode, Message, ParseError,
    model::{InvalidItem, Item},
};

/// What is wrong with the keys of a message, in short.
fn judge(text: &str) -> String {
    match Message::parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(_) => "fine".to_owned(),
        Err(why) => {
            assert_eq!(why.code(), ErrorCode::INVALID_REQUEST);
            match why {
                ParseError::DuplicateKey { object, key } => format!("{object}: {key} twice"),
                ParseError::CaseVariant { object, key, known } => format!("{object}: {key} for {known}"),
                other => format!("{other:?}"),
            }
        }
    }
}

#[test]
fn of_the_envelope() {
    for (fields, expected) in [
        (r#""extra":1,"Extra":2"#, "fine"),
        (r#""method":"a""#, "message: method twice"),
        (r#""m\u0065thod":"a""#, "message: method twice"),
        (r#""extra":1,"extra":2"#, "message: extra twice"),
        (r#""extra":1,"\u0065xtra":2"#, "message: extra twice"),
        (r#""Method":"a""#, "message: Method for method"),
        (r#""\u004dethod":"a""#, "message: Method for method"),
        (r#""paramſ":{}"#, "message: paramſ for params"),
        (r#""param\u017f":{}"#, "message: paramſ for params"),
        (r#""İd":1"#, "message: İd for id"),
        (r#""ıd":1"#, "message: ıd for id"),
        (r#""JSONRPC":1"#, "message: JSONRPC for jsonrpc"),
        (r#""Result":1"#, "message: Result for result"),
        (r#""method ":1,"methods":2,"":3"#, "fine"),
        (r#""\ud800":1,"\udfff":2"#, "message: \u{fffd} twice"),
    ] {
        assert_eq!(judge(&format!(r#"{{"jsonrpc":"2.0","method":"x",{fields}}}"#)), expected, "{fields}");
    }
}

#[test]
fn of_params_and_meta() {
    for (params, expected) in [
        (r#"{"name":"a","arguments":{"name":1,"name":2,"Name":3}}"#, "fine"),
        (r#"{"name":"a","name":"b"}"#, "params: name twice"),
        (r#"{"n\u0061me":"a","name":"b"}"#, "params: name twice"),
        (r#"{"name":"a","n\u0061me":"b"}"#, "params: name twice"),
        (r#"{"Name":"a"}"#, "params: Name for name"),
        (r#"{"argumentſ":1}"#, "params: argumentſ for arguments"),
        ("{\"tas\u{212a}Id\":1}", "params: tas\u{212a}Id for taskId"),
        (r#"{"TASKID":1}"#, "params: TASKID for taskId"),
        (r#"{"_Meta":{}}"#, "params: _Meta for _meta"),
        (r#"{"_meta":{},"_meta":{}}"#, "params: _meta twice"),
        (r#"{"_meta":{},"\u005fmeta":{}}"#, "params: _meta twice"),
        (r#"{"_meta":{"progressToken":1,"progressToken":2}}"#, "_meta: progressToken twice"),
        (r#"{"_meta":{"a":1,"\u0061":2}}"#, "_meta: a twice"),
        (r#"{"_meta":{"a":1,"A":2}}"#, "fine"),
        (r#"{"x":1,"x":1}"#, "params: x twice"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        assert_eq!(judge(&text), expected, "{params}");
    }
}

#[test]
fn a_name_with_escapes_is_found() {
    let text = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"n\u0061me":"\u0072m"}}"#;
    let Ok(Message::Notification(call)) = Message::parse(text.into()) else { panic!() };
    assert_eq!(call.string_param("name").as_deref(), Some("rm"));
}

#[test]
fn many_keys_take_linear_time() {
    let fields: Vec<String> = (0..300_000).map(|n| format!("\"k{n}\":0")).collect();
    let object = format!("{{{}}}", fields.join(","));
    let text = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{object}}}"#);
    assert_eq!(judge(&text), "fine");
    assert!(Item::parse(object.clone().into()).is_ok());
    let twice = object.replace("\"k299999\"", "\"k7\"");
    assert_eq!(judge(&text.replace(&object, &twice)), "params: k7 twice");
    assert_eq!(Item::parse(twice.into()).unwrap_err(), InvalidItem::Duplicate { field: "k7".into() });
}

proptest! {
    #[test]
    fn a_duplicate_is_found_wherever_it_stands(count in 1_usize..30, first in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), escaped: bool) {
        let mut keys: Vec<String> = (0..count).map(|n| format!("k{n}")).collect();
        let key = keys[first.index(count)].clone();
        let written = if escaped { key.replace('k', "\\u006b") } else { key.clone() };
        keys.insert(at.index(count + 1), written);
        let fields: Vec<_> = keys.iter().map(|key| format!("\"{key}\":0")).collect();
        let text = format!(r#"{{"jsonrpc":"2.0","method":"x",{}}}"#, fields.join(","));
        prop_assert_eq!(judge(&text), format!("message: {key} twice"));
    }
}
