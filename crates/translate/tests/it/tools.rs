//! Definitions of tools.

use std::borrow::Cow;

use bytes::Bytes;
use toolbay_protocol::Revision;
use toolbay_translate::{tool_for, tools_for};

#[test]
fn only_what_would_break_a_client_is_changed() {
    for (item, expected) in [
        (r#"{"name":"a", "title":"T","icons":[],"execution":{"taskSupport":"required"},"x":1.0}"#, None),
        (r#"{"name":"a","outputSchema":{ "type":"object","anyOf":[]}}"#, None),
        (r#"{"name":"a","outputSchema":{"type":"array"},"x":1.0}"#, Some(r#"{"name":"a","x":1.0}"#)),
        (r#"{"outputSchema":{"anyOf":[]},"name":"a"}"#, Some(r#"{"name":"a"}"#)),
        (r#"{"name":"a","outputSchema":true}"#, Some(r#"{"name":"a"}"#)),
        (
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"t":true,"f":false,"n":{"minimum":1.0}}}}"#,
            Some(
                r#"{"name":"a","inputSchema":{"type":"object","properties":{"t":{},"f":{"not":{}},"n":{"minimum":1.0}}}}"#,
            ),
        ),
        (r#"{"name":"a","inputSchema":{"type":"object","properties":[true]}}"#, None),
        ("[]", None),
        ("no json", None),
    ] {
        for revision in Revision::ALL {
            let got = tool_for(item.as_bytes(), revision);
            match expected.filter(|_| !revision.is_modern()) {
                Some(expected) => assert_eq!(std::str::from_utf8(&got).unwrap(), expected, "{revision}"),
                None => assert!(
                    matches!(got, Cow::Borrowed(same) if same == item.as_bytes()),
                    "{revision} {item}"
                ),
            }
        }
    }
}

#[test]
fn a_list_keeps_its_order_and_is_not_copied_without_need() {
    let list = Bytes::from_static(br#"[{"name":"a","outputSchema":{"type":"array"}}, {"name":"b","x":1.0}]"#);
    let old = tools_for(&list, Revision::LATEST_LEGACY);
    assert_eq!(&old[..], br#"[{"name":"a"},{"name":"b","x":1.0}]"#);
    assert_eq!(tools_for(&list, Revision::LATEST).as_ptr(), list.as_ptr());
    assert_eq!(tools_for(&old, Revision::LATEST_LEGACY).as_ptr(), old.as_ptr());
}
