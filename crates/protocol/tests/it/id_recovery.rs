//! The id of a text that is thrown away.

use proptest::prelude::*;
use toolbay_protocol::IdRecovery;

use crate::json;

/// The id found when the text comes in pieces of `size` bytes.
fn found(text: &[u8], size: usize) -> Option<String> {
    let mut tracker = IdRecovery::default();
    text.chunks(size).for_each(|piece| tracker.feed(piece));
    tracker.into_id().map(|id| id.to_string())
}

#[test]
fn wherever_it_stands_and_however_it_comes() {
    let filler = r#""result":{"id":9,"text":"\\\",\"id\":8,}{][ ","list":[{"id":7},"id"]}"#;
    let spaces = " ".repeat(2000);
    for (text, expected) in [
        (format!(r#"{{"id":5,{filler}}}"#), Some("5")),
        (format!(r#"{{{filler},"id":"5"}}"#), Some("\"5\"")),
        (format!(r#" {{{filler}, "id" : -5 ,"jsonrpc":"2.0"}}"#), Some("-5")),
        (format!(r#"{{{filler},"\u0069d":"a\"b,}}"}}"#), Some("\"a\\\"b,}\"")),
        (format!(r#"{{"id":5,{filler}"#), Some("5")),
        (format!(r#"{{{filler}}}"#), None),
        (format!(r#"{{"id":null,{filler}}}"#), None),
        (format!(r#"{{"id":{{"id":1}},{filler}}}"#), None),
        (format!(r#"{{"id":[1],{filler}}}"#), None),
        (format!(r#"{{"ID":1,{filler}}}"#), None),
        // Ambiguous.
        (format!(r#"{{"id":1,{filler},"id":2}}"#), None),
        (format!(r#"{{"id":1,{filler},"id":2,"id":3}}"#), None),
        // Cut, so that 5 may not be all of it.
        (format!(r#"{{"id":{}}}"#, "5".repeat(2000)), None),
        (format!(r#"{{"id":{}55}}"#, &spaces[..1034]), None),
        // Not what a message looks like.
        (format!(r#"got {{"id":5,{filler}}}"#), None),
        (format!(r#"[{{"id":5,{filler}}}]"#), None),
        (r#"{}{"id":5}"#.to_owned(), None),
        (r#"{"id":5}{"id":6}"#.to_owned(), Some("5")),
        (r#"{"id":1 2}"#.to_owned(), None),
        (r#"{"id":1"#.to_owned(), None),
    ] {
        for size in (1..40).chain([text.len()]) {
            assert_eq!(found(text.as_bytes(), size).as_deref(), expected, "{text} by {size}");
        }
    }
    assert_eq!(found(b"{\"id\":\"\xff\"}", 3), None);
}

proptest! {
    #[test]
    fn finds_what_a_parser_finds(before in json::value(), id in json::number(), after in json::value(), size in 1_usize..50) {
        let text = format!(r#"{{"result" : {before} , "id": {id},"x":{after}}}"#);
        prop_assert_eq!(found(text.as_bytes(), size), Some(id));
    }

    #[test]
    fn survives_anything(bytes in any::<Vec<u8>>(), size in 1_usize..9) {
        prop_assert_eq!(found(&bytes, size), found(&bytes, bytes.len().max(1)));
    }
}
