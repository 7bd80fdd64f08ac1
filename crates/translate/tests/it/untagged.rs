//! Notifications without the tag of a subscription.

use toolbay_protocol::Message;
use toolbay_translate::untagged;

#[test]
fn only_the_tag_goes() {
    for (params, expected) in [
        ("", ""),
        (r#","params":{"uri":"a:b"}"#, r#","params":{"uri":"a:b"}"#),
        (
            r#","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5},"uri":"a:b"}"#,
            r#","params":{"uri":"a:b"}"#,
        ),
        (
            r#","params":{"uri":"a:b", "_meta":{"x":1.0, "io.modelcontextprotocol/subscriptionId":5}}"#,
            r#","params":{"uri":"a:b", "_meta":{"x":1.0}}"#,
        ),
        (r#","params":{"_meta":{"x":1}}"#, r#","params":{"_meta":{"x":1}}"#),
    ] {
        let text = |params| format!(r#"{{"jsonrpc":"2.0","method":"n"{params}}}"#);
        let Ok(Message::Notification(note)) = Message::parse(text(params).into()) else { panic!("{params}") };
        assert_eq!(untagged(&note).into_bytes(), text(expected));
    }
}
