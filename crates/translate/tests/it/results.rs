//! Content that older clients do not know.

use toolbay_protocol::{Revision, method};

use crate::text::outcome;

const V24: Revision = Revision::V2024_11_05;
const V03: Revision = Revision::V2025_03_26;
const V06: Revision = Revision::V2025_06_18;
const V11: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

const AUDIO: &str = r#"{"type":"audio","data":"QUJD","mimeType":"audio/wav","annotations":{"priority":1.0}}"#;
const AUDIO_IN_RESOURCE: &str = r#"{"type":"resource","annotations":{"priority":1.0},"resource":{"uri":"cid:audio","mimeType":"audio/wav","blob":"QUJD"}}"#;
const LINK: &str = r#"{"type":"resource_link","uri":"file:///a","name":"a.txt","description":"All of it","mimeType":"text/plain","_meta":{"k":1}}"#;
const LINK_IN_WORDS: &str = r#"{"type":"text","_meta":{"k":1},"text":"a.txt: file:///a\nAll of it"}"#;

/// A tool's result with these fields, as a client of `to` gets it from a server of `from`.
fn tool(fields: &str, from: Revision, to: Revision) -> String {
    let text = outcome(&format!(r#""result":{{{fields}}}"#), method::TOOLS_CALL, from, to);
    let fields = text.strip_prefix(r#""result":{"#).and_then(|rest| rest.strip_suffix('}'));
    fields.unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn blocks_take_a_form_that_the_client_knows() {
    let other =
        r#"{"type":"image","data":"","mimeType":"image/png","uri":"a:b","x":["audio","resource_link"]}"#;
    let said = format!(r#""content":[{AUDIO},{other}, {LINK}],"x":1"#);
    for (from, to, audio, link) in [
        (V06, V24, AUDIO_IN_RESOURCE, LINK_IN_WORDS),
        (V11, V24, AUDIO_IN_RESOURCE, LINK_IN_WORDS),
        (V06, V03, AUDIO, LINK_IN_WORDS),
        (V03, V24, AUDIO_IN_RESOURCE, LINK),
        (V11, V06, AUDIO, LINK),
        (V24, V11, AUDIO, LINK),
    ] {
        let expected = said.replace(AUDIO, audio).replace(LINK, link).replace(" {\"type\"", "{\"type\"");
        let same = audio == AUDIO && link == LINK;
        let expected = if same { said.clone() } else { expected };
        assert_eq!(tool(&said, from, to), expected, "{from} → {to}");
    }
    let modern = format!(r#""resultType":"complete",{said}"#);
    assert_eq!(tool(&modern, NEW, V24), tool(&said, V11, V24));
    assert_eq!(tool(&modern, NEW, V11), said);
    assert_eq!(tool(&modern, NEW, NEW), modern);
}

#[test]
fn prompts_have_blocks_too() {
    let message = |block: &str| format!(r#"{{"role":"user","content":{block},"y":2}}"#);
    let text = message(r#"{"type":"text","text":"\"resource_link\""}"#);
    let said = format!(r#""result":{{"messages":[{},{text},{}]}}"#, message(AUDIO), message(LINK));
    assert_eq!(
        outcome(&said, method::PROMPTS_GET, V11, V24),
        said.replace(AUDIO, AUDIO_IN_RESOURCE).replace(LINK, LINK_IN_WORDS)
    );
    assert_eq!(outcome(&said, method::RESOURCES_READ, V11, V24), said); // no blocks there
}

#[test]
fn blocks_that_are_not_as_they_should_stay() {
    for said in [
        r#""content":[{"type":"audio","data":"QQ=="},{"type":"resource_link","name":"n"}]"#,
        r#""content":{"type":"audio","data":"QQ==","mimeType":"m"}"#,
        r#""content":["audio","resource_link",{"type":["audio"]}]"#,
    ] {
        assert_eq!(tool(said, V11, V24), said);
    }
}

#[test]
fn structured_content_can_be_read_by_everyone() {
    for (said, from, to, expected) in [
        // Readers of text only.
        (
            r#""structuredContent":{"a": 1.0}"#,
            V06,
            V03,
            r#""structuredContent":{"a": 1.0},"content":[{"type":"text","text":"{\"a\": 1.0}"}]"#,
        ),
        (
            r#""content":[ ],"structuredContent":{}"#,
            V11,
            V24,
            r#""content":[{"type":"text","text":"{}"}],"structuredContent":{}"#,
        ),
        (r#""content":[{}],"structuredContent":{}"#, V11, V24, r#""content":[{}],"structuredContent":{}"#),
        // Readers of objects only.
        (
            r#""resultType":"complete","structuredContent":[1]"#,
            NEW,
            V11,
            r#""content":[{"type":"text","text":"[1]"}]"#,
        ),
        (
            r#""content":[],"structuredContent":"s","isError":false"#,
            NEW,
            V06,
            r#""content":[{"type":"text","text":"\"s\""}],"isError":false"#,
        ),
        (
            r#""content":[{"type":"text","text":"t"}],"structuredContent":null"#,
            NEW,
            V03,
            r#""content":[{"type":"text","text":"t"}]"#,
        ),
        // Readers of both.
        (r#""structuredContent":{"a":1}"#, V06, V11, r#""structuredContent":{"a":1}"#),
        (
            r#""content":[],"structuredContent":{"a":1}"#,
            NEW,
            V11,
            r#""content":[],"structuredContent":{"a":1}"#,
        ),
        (
            r#""resultType":"complete","structuredContent":5"#,
            NEW,
            NEW,
            r#""resultType":"complete","structuredContent":5"#,
        ),
    ] {
        assert_eq!(tool(said, from, to), expected, "{from} → {to}");
    }
}

#[test]
fn what_is_not_complete_is_not_passed_off_as_complete() {
    let said = r#""result":{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(
        outcome(said, method::TOOLS_CALL, NEW, V11),
        r#""error":{"code":-32603,"message":"the server's result has the type \"input_required\", which legacy clients do not support"}"#
    );
    assert_eq!(outcome(said, method::TOOLS_CALL, NEW, NEW), said);
}
