//! Events that cannot be forged.

use toolbay_protocol::Rope;
use toolbay_transport::http::event;

#[test]
fn a_message_is_one_event_whatever_it_holds() {
    for message in ["{}", "{\n\n\"event\": \"x\"\r\r}", "{\"a\":\"\\n\\ndata: {}\"}"] {
        let text = event(Rope::from(message.to_owned())).into_bytes();
        let text = std::str::from_utf8(&text).unwrap();
        let data = text.strip_prefix("event: message\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
        assert!(!data.contains(['\n', '\r']), "{text:?}");
        let value = |text: &str| text.replace(['\n', '\r'], " ");
        assert_eq!(data, value(message));
    }
}
