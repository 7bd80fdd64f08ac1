//! What messages of 2025-11-25 say about the task they belong to.

use bytes::Bytes;
use toolbay_protocol::{Message, RequestId, Revision, method};
use toolbay_translate::{related_task, translate_response, translate_server_request, with_related_task};

const ABOUT: &str = r#"{"_meta":{"a":1.0,"io.modelcontextprotocol/related-task":{"taskId":"t"}},"x":1}"#;

#[test]
fn only_that_revision_gets_the_related_task() {
    let (v06, v11) = (Revision::V2025_06_18, Revision::V2025_11_25);
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{ABOUT}}}"#);
    let Ok(Message::Response(response)) = Message::parse(Bytes::from(text)) else { panic!("no response") };
    for (to, is_told) in [(v06, false), (v11, true), (Revision::LATEST, false)] {
        let told =
            translate_response(&response, &RequestId::from(1), method::TOOLS_CALL, v11, to).into_bytes();
        let told = std::str::from_utf8(&told).unwrap();
        assert_eq!(told.contains("related-task"), is_told, "{to}: {told}");
        assert!(told.contains(r#""_meta":{"a":1.0"#), "{to}: {told}");
        let translated = translate_server_request(method::ROOTS_LIST, Some(ABOUT), v11, to, "").unwrap();
        assert_eq!(related_task(&translated).as_deref(), is_told.then_some("\"t\""), "{to}: {translated}");
        assert!(translated.contains(r#""_meta":{"a":1.0"#), "{to}: {translated}");
    }
}

#[test]
fn the_task_can_be_another() {
    let other = with_related_task(ABOUT, "\"u\"");
    assert_eq!(related_task(&other).as_deref(), Some("\"u\""));
    assert_eq!(other, ABOUT.replace("\"t\"", "\"u\""));
    let added = with_related_task(r#"{"x":1}"#, "\"u\"");
    assert_eq!(added, r#"{"x":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"u"}}}"#);
    for nothing in ["[]", "{}", r#"{"_meta":{}}"#, r#"{"_meta":{"io.modelcontextprotocol/related-task":1}}"#]
    {
        assert_eq!(related_task(nothing), None, "{nothing}");
    }
}
