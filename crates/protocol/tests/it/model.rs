//! Typed views read what they know and keep the rest.

use bytes::Bytes;
use toolbay_protocol::model::{
    CallToolResult, ContentBlock, GetPromptResult, InvalidItem, Item, Prompt, ReadResourceResult, Resource,
    ResourceTemplate, Tool, list_items,
};
use toolbay_protocol::{ErrorCode, Revision};

#[test]
fn a_tool_keeps_what_it_does_not_know() {
    let text = r#"{ "x-new":[1.0,20000000000000000000], "name":"a\u0062", "title":"T", "description":"d\n",
        "inputSchema":{"type":"object"}, "execution":{"taskSupport":"optional"} }"#;
    let tool = Tool::parse(text.into()).unwrap();
    assert_eq!(tool.name(), "ab");
    assert_eq!(tool.title().as_deref(), Some("T"));
    assert_eq!(tool.description().as_deref(), Some("d\n"));
    assert_eq!(tool.input_schema(), Some(r#"{"type":"object"}"#));
    assert_eq!(tool.output_schema(), None);
    let renamed = tool.item().with_string("name", "s__\"ab\"").into_bytes();
    assert_eq!(renamed, text.replace(r#""a\u0062""#, r#""s__\"ab\"""#));
}

#[test]
fn offers_need_their_key() {
    let missing = |field| InvalidItem::BadField { field, expected: "a string" };
    assert_eq!(Tool::parse("{}".into()).unwrap_err(), missing("name"));
    assert_eq!(Tool::parse(r#"{"name":1}"#.into()).unwrap_err(), missing("name"));
    assert_eq!(Prompt::parse(r#"{"Name":"x"}"#.into()).unwrap_err(), missing("name"));
    assert_eq!(Resource::parse(r#"{"name":"x"}"#.into()).unwrap_err(), missing("uri"));
    assert_eq!(ResourceTemplate::parse(r#"{"uri":"x"}"#.into()).unwrap_err(), missing("uriTemplate"));
    let twice = InvalidItem::Duplicate { field: "name".into() };
    assert_eq!(Tool::parse(r#"{"name":"a","n\u0061me":"b"}"#.into()).unwrap_err(), twice);
    for text in ["[]", "1", "{", "{}x", ""] {
        assert!(matches!(Item::parse(text.into()), Err(InvalidItem::NotAnObject(_))), "{text}");
    }
}

#[test]
fn lists_are_cut_into_items() {
    let list = Bytes::from_static(b" [ {\"a\":[1,2]} ,5,\"]\" ] ");
    assert_eq!(list_items(&list).unwrap(), ["{\"a\":[1,2]}", "5", "\"]\""]);
    assert!(list_items(&Bytes::from_static(b"[1,]")).is_err());
    assert!(list_items(&Bytes::from_static(b"{}")).is_err());
}

#[test]
fn content_reads_as_text() {
    for (block, text) in [
        (r#"{"type":"text","text":"hi","x":1}"#, "hi"),
        (r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#, "[image image/png, 3 bytes]"),
        (r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#, "[audio audio/wav, 1 bytes]"),
        (r#"{"type":"resource_link","uri":"a:b","name":"n"}"#, "[link a:b]"),
        (r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#, "t"),
        (r#"{"type":"resource","resource":{"uri":"a:b","blob":"AAAA"}}"#, "[3 bytes of a:b]"),
        (r#"{"type":"hologram","x":1.0}"#, r#"{"type":"hologram","x":1.0}"#),
    ] {
        let read: ContentBlock = serde_json::from_str(block).unwrap();
        assert_eq!(read.to_text(), text);
        assert_eq!(serde_json::to_string(&read).unwrap(), block);
        assert_eq!(read.raw(), block);
    }
    assert!(serde_json::from_str::<ContentBlock>(r#"{"type":"text"}"#).is_err());
}

#[test]
fn results() {
    let call = |text| serde_json::from_str::<CallToolResult>(text).unwrap();
    assert_eq!(call(r#"{"content":[],"structuredContent":{"a":1.0}}"#).to_text(), r#"{"a":1.0}"#);
    let both = call(r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{},"isError":true}"#);
    assert_eq!((both.to_text().as_str(), both.is_error), ("t", true));
    assert_eq!(call("{}").to_text(), "");
    let read: ReadResourceResult =
        serde_json::from_str(r#"{"contents":[{"uri":"a:b","mimeType":"text/x","text":"t"}],"x":1}"#).unwrap();
    assert_eq!(read.contents[0].to_text(), "t");
    let prompt: GetPromptResult =
        serde_json::from_str(r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}}]}"#)
            .unwrap();
    assert_eq!(prompt.messages[0].content.as_text(), Some("t"));
}

#[test]
fn revisions_are_ordered() {
    assert!(Revision::ALL.is_sorted());
    for revision in Revision::ALL {
        assert_eq!(revision.as_str().parse(), Ok(revision));
        assert_eq!(revision.is_modern(), revision == Revision::LATEST);
    }
    assert!("2025-01-01".parse::<Revision>().is_err());
    assert!(ErrorCode::HEADER_MISMATCH.is_modern() && !ErrorCode::PARSE_ERROR.is_modern());
}
