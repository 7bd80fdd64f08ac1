//! Ids are kept as they were written.

use toolbay_protocol::{Message, ParseError, RequestId};

fn id(raw: &str) -> Result<RequestId, ParseError> {
    let text = format!(r#"{{"jsonrpc":"2.0","id": {raw} ,"method":"ping"}}"#);
    match Message::parse(text.into())? {
        Message::Request(request) => Ok(request.id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kept_as_written() {
    for raw in [
        "1",
        "\"1\"",
        "-1",
        "0",
        "1.5",
        "1.0",
        "1e3",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\\u0062\"",
        "\"ä\"",
    ] {
        assert_eq!(id(raw).unwrap().as_raw(), raw);
        assert_eq!(RequestId::from_raw(raw.as_bytes()).unwrap(), id(raw).unwrap());
    }
    assert_ne!(id("1").unwrap(), id("\"1\"").unwrap());
    assert_eq!(id("7").unwrap(), RequestId::from(7));
    assert_eq!(id("7").unwrap().as_number(), Some(7));
    assert_eq!(id("\"7\"").unwrap().as_number(), None);
    assert_eq!(id("1.0").unwrap().as_number(), None);
}

#[test]
fn refused() {
    for raw in ["null", "true", "false", "{}", "[]", "[1]"] {
        assert_eq!(id(raw), Err(ParseError::BadId), "{raw}");
    }
    let long = format!("\"{}\"", "x".repeat(RequestId::MAX_LEN - 2));
    assert!(id(&long).is_ok());
    assert_eq!(id(&long.replacen('x', "xx", 1)), Err(ParseError::BadId));
    for raw in [&b""[..], b"1x", b"1 ", b" 1", b"\"a", b"\"\xff\"", b"-", b"01", b"null", b"\"a\nb\""] {
        assert_eq!(RequestId::from_raw(raw), None);
    }
}
