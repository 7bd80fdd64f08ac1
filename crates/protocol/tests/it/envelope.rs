//! What is a message, what is none, and why.

use bytes::Bytes;
use toolbay_protocol::{ErrorCode, Message, ParseError, parse_batch};

/// A message in short: its kind, id and method, or why it is none.
fn judge(text: &[u8]) -> String {
    match Message::parse(Bytes::copy_from_slice(text)) {
        Ok(Message::Request(request)) => format!("request {} {}", request.id, request.call.method()),
        Ok(Message::Notification(call)) => format!("notification {}", call.method()),
        Ok(Message::Response(response)) => {
            let kind = if response.error().is_some() { "error" } else { "result" };
            format!("{kind} {}", response.id.map_or("-".to_owned(), |id| id.to_string()))
        }
        Err(why) => format!("{} {why:?}", why.code()),
    }
}

#[test]
fn messages() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping"),
        (r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#, "request \"1\" ping"),
        (r#"{"jsonrpc":"2.0","method":"ping","params":{},"id":1}"#, "request 1 ping"),
        (r#" {"jsonrpc" : "2.0" , "method":"a\/b" } "#, "notification a/b"),
        (r#"{"jsonrpc":"\u0032.0","m\u0065thod":"p\u0069ng"}"#, "notification ping"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "result 1"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":null},"x":[1]}"#, "result 1"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","more":2}}"#, "error 1"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}"#, "error -"),
        (r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}"#, "error -"),
    ] {
        assert_eq!(judge(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn refusals() {
    for (text, expected) in [
        ("", "-32700 Truncated"),
        ("  ", "-32700 Truncated"),
        ("{", "-32700 Truncated"),
        ("{bad", "-32700 Syntax { at: 1 }"),
        ("Server started", "-32700 Syntax { at: 0 }"),
        ("[INFO] started", "-32700 Syntax { at: 1 }"),
        ("\u{1b}[32mready", "-32700 Syntax { at: 0 }"),
        ("\u{feff}{}", "-32700 Syntax { at: 0 }"),
        (r#"{"jsonrpc":"2.0","method":"ping"}}"#, "-32700 Syntax { at: 33 }"),
        (r#"{"jsonrpc":"2.0","method":"ping"} {}"#, "-32700 Syntax { at: 34 }"),
        ("42", "-32600 NotAnObject"),
        ("null", "-32600 NotAnObject"),
        ("\"{}\"", "-32600 NotAnObject"),
        ("[]", "-32600 Batch"),
        (r#"[{"jsonrpc":"2.0","method":"ping"}]"#, "-32600 Batch"),
        ("{}", "-32600 Version"),
        (r#"{"jsonrpc":2.0,"method":"ping"}"#, "-32600 Version"),
        (r#"{"jsonrpc":"2","method":"ping"}"#, "-32600 Version"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "-32600 Version"),
        (r#"{"id":1,"method":"ping"}"#, "-32600 Version"),
        (r#"{"jsonrpc":"2.0"}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"result":5}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":""}}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":1}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","error":null}"#, "-32600 NoKind"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, "-32600 BadError"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}"#, "-32600 BadError"),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"message":""}}"#, "-32600 BadError"),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, "-32600 BadId"),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "-32600 BadId"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "-32600 BadMethod"),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "-32600 BadMethod"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, "-32602 BadParams"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, "-32602 BadParams"),
    ] {
        assert_eq!(judge(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    for bytes in [&b"\xff"[..], b"{\"a\xc3\":1}", b"\"\xed\xa0\x80\"", b"\xc0\xaf", b"{}\xf0\x9f"] {
        assert_eq!(judge(bytes).split(' ').take(2).collect::<Vec<_>>(), ["-32700", "Utf8"]);
    }
}

#[test]
fn the_meta_of_a_call_is_never_that_of_a_result() {
    let text = r#"{"jsonrpc":"2.0","id":1,"params":{"_meta":{"a":1}},"result":{}}"#;
    let Ok(Message::Response(response)) = Message::parse(text.into()) else { panic!() };
    assert!(response.result_field("a").is_none());
}

#[test]
fn batches() {
    let batch = |text: &str| parse_batch(Bytes::copy_from_slice(text.as_bytes()));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(batch(ping).unwrap().len(), 1);
    let each = batch(&format!("[{ping}, 5,[{ping}] ,{{}}]")).unwrap();
    let each: Vec<_> = each.into_iter().map(|message| message.map(drop)).collect();
    assert_eq!(
        each,
        [Ok(()), Err(ParseError::NotAnObject), Err(ParseError::Batch), Err(ParseError::Version)]
    );
    assert_eq!(batch("[]").unwrap_err(), ParseError::NotAnObject);
    assert_eq!(batch("[1,]").unwrap_err().code(), ErrorCode::PARSE_ERROR);
    assert_eq!(batch("5").unwrap_err(), ParseError::NotAnObject);
    let many = format!("[{}1]", "1,".repeat(5_000_000));
    assert_eq!(batch(&many).unwrap_err(), ParseError::LongBatch { limit: 1024 });
}
