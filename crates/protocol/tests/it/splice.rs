//! Edits leave every other byte alone.

use bytes::Bytes;
use proptest::prelude::*;
use toolbay_protocol::{Message, Outcome, Request, RequestId, Response, Splice, decode_string};

use crate::json;

fn request(text: &str) -> Box<Request> {
    match Message::parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Message::Request(request)) => request,
        other => panic!("{text}: {other:?}"),
    }
}

fn response(text: &str) -> Box<Response> {
    match Message::parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Message::Response(response)) => response,
        other => panic!("{text}: {other:?}"),
    }
}

/// The request under id 99, its name `new` and `_meta` with one field more.
fn edit(text: &str) -> String {
    let request = request(text);
    let mut splice = Splice::new(&request.call.text);
    splice.replace(request.id_span, "99");
    if let Some(name) = request.call.param("name") {
        splice.replace(name, "\"new\"");
    }
    request.call.insert_meta(&mut splice, &[("added", "[\n1]")]);
    String::from_utf8(request.call.edited(splice).into_bytes().into()).unwrap()
}

#[test]
fn name_id_and_meta() {
    for (text, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":99,"method":"m","params":{"_meta":{"added":[ 1]}}}"#,
        ),
        (
            r#"{"params":{},"jsonrpc":"2.0","id":"a","method":"m" }"#,
            r#"{"params":{"_meta":{"added":[ 1]}},"jsonrpc":"2.0","id":99,"method":"m" }"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{},"n\u0061me":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":99,"method":"m","params":{"_meta":{"added":[ 1]},"n\u0061me":"new"}}"#,
        ),
        // A `_meta` that is none must not become two.
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":null,"a":1}}"#,
            r#"{"jsonrpc":"2.0","id":99,"method":"m","params":{"_meta":{"added":[ 1]},"a":1}}"#,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"m\",\r\n\"params\":{\"_meta\":{ \"a\":1}}}\n",
            r#"{"jsonrpc":"2.0", "id":99,"method":"m",  "params":{"_meta":{"added":[ 1], "a":1}}} "#,
        ),
    ] {
        assert_eq!(edit(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_edited_survives_byte_for_byte() {
    let rest =
        r#""arguments" : {"n":12345678901234567890, "f":1.0,"e":1e400,"s":"\u00e4\/\ud800\"", "x":[ ]}"#;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"x-new":{{"a" :0}},"method":"m","params":{{"name":"x",{rest}}}}}"#
    );
    let expected = text
        .replace("\"id\":1", "\"id\":99")
        .replace("\"name\":\"x\"", "\"_meta\":{\"added\":[ 1]},\"name\":\"new\"");
    assert_eq!(edit(&text), expected);
    assert!(request(&text).call.has_wide_numbers);
}

#[test]
fn responses_get_another_id() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":"x","result":{}}"#),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":"x"}"#,
        ),
    ] {
        let response = response(text);
        let splice = response.with_id(&RequestId::from_raw(b"\"x\"").unwrap());
        assert_eq!(response.edited(splice).into_bytes(), expected);
    }
}

#[test]
fn an_insertion_goes_before_what_stands_there() {
    let request = request(r#"{"jsonrpc":"2.0","id":5,"method":"m"}"#);
    let mut splice = Splice::new(&request.call.text);
    splice.replace(request.id_span, "6").replace(request.id_span.before(), "1");
    assert_eq!(splice.finish().into_bytes(), r#"{"jsonrpc":"2.0","id":16,"method":"m"}"#);
}

/// Keys and values, each key another.
fn fields(max: usize) -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("[a-zA-Z]{1,3}[0-9]", json::value(), 0..max)
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (format!("\"{key}\""), value)).collect())
}

proptest! {
    #[test]
    fn edits_change_only_what_they_edit(
        mut params in fields(4), meta in prop::option::of(fields(3)), name in json::string(), padding in 0_usize..2,
    ) {
        params.push(("\"name\"".into(), name.clone()));
        if let Some(meta) = &meta {
            let meta: Vec<_> = meta.iter().map(|(k, v)| format!("{k}:{v}")).collect();
            params.insert(0, ("\"_meta\"".into(), format!("{{{}}}", meta.join(","))));
        }
        params.push(("\"padding\"".into(), format!("\"{}\"", "p".repeat(padding * 9000))));
        let object: Vec<_> = params.iter().map(|(k, v)| format!("{k}:{v}")).collect();
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{{}}}}}"#, object.join(","));
        let edited = edit(&text);
        prop_assert!(!edited.contains('\n'));
        let after = request(&edited);
        prop_assert_eq!(after.id.as_raw(), "99");
        prop_assert_eq!(after.call.string_param("name").unwrap(), "new");
        prop_assert_eq!(after.call.raw(after.call.meta("added").unwrap()), "[ 1]");
        for (key, value) in params.iter().filter(|(key, _)| key != "\"name\"" && key != "\"_meta\"") {
            let now = after.call.param(&key[1..key.len() - 1]).unwrap();
            prop_assert_eq!(after.call.raw(now), value.replace(['\n', '\r'], " "));
        }
        for (key, value) in meta.iter().flatten() {
            let now = after.call.meta(&key[1..key.len() - 1]).unwrap();
            prop_assert_eq!(after.call.raw(now), value.replace(['\n', '\r'], " "));
        }
        prop_assert_eq!(after.call.meta.unwrap().entries.len(), meta.map_or(0, |meta| meta.len()) + 1);
        prop_assert_eq!(after.call.params.unwrap().entries.len(), params.len() + usize::from(!text.contains("\"_meta\"")));
    }

    #[test]
    fn cuts_remove_just_the_named_fields(all in fields(8), space in json::space(), chosen in any::<u8>()) {
        let written: Vec<_> = all.iter().map(|(k, v)| format!("{space}{k}{space}:{v}{space}")).collect();
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{}}}}}"#, written.join(","));
        let response = response(&text);
        let Outcome::Result { fields, .. } = &response.outcome else { panic!() };
        let goes = |index: usize| chosen & 1 << index != 0;
        let names: Vec<_> = (0..all.len()).filter(|&index| goes(index)).map(|index| decode_string(all[index].0.as_bytes()).unwrap()).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let mut splice = Splice::new(&response.text);
        for cut in fields.cuts(&response.text, &names) {
            splice.replace(cut, "");
        }
        let after = splice.finish().into_bytes();
        let after = self::response(std::str::from_utf8(&after).unwrap());
        let Outcome::Result { fields, .. } = &after.outcome else { panic!() };
        let left: Vec<_> = fields.entries.iter().map(|field| (format!("\"{}\"", after.raw(field.key)), after.raw(field.value).to_owned())).collect();
        let kept: Vec<_> = all.iter().enumerate().filter(|(index, _)| !goes(*index)).map(|(_, field)| field.clone()).collect();
        prop_assert_eq!(left, kept);
    }
}
