//! Server requests, and their responses.

use toolbay_protocol::{Revision, method};
use toolbay_translate::{UnsupportedServerRequest, translate_client_response, translate_server_request};

const V24: Revision = Revision::V2024_11_05;
const V03: Revision = Revision::V2025_03_26;
const V06: Revision = Revision::V2025_06_18;
const V11: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

fn translated(
    method: &str,
    params: &str,
    from: Revision,
    to: Revision,
) -> Result<String, UnsupportedServerRequest> {
    translate_server_request(method, Some(params), from, to, "e\"1")
}

/// The same server request for every client, whichever server asks.
fn stays(method: &str, params: &str, revisions: &[Revision]) {
    for from in revisions {
        for to in revisions {
            assert_eq!(translated(method, params, *from, *to).as_deref(), Ok(params), "{from} → {to}");
        }
    }
}

#[test]
fn what_every_revision_has_stays_as_it_was_written() {
    let all = Revision::ALL;
    stays(method::ROOTS_LIST, r#"{ "_meta":{"k":1.0} }"#, &all);
    stays(
        method::SAMPLE,
        r#"{"messages":[ {"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":1e2}"#,
        &all,
    );
    stays(
        method::ELICIT,
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":["X"]},"b":{"type":"number","minimum":1.0}},"required":["a"]}}"#,
        &[V06, V11, NEW],
    );
    assert_eq!(translate_server_request(method::ROOTS_LIST, None, NEW, V24, "").as_deref(), Ok("{}"));
}

#[test]
fn forms_are_translated_to_2025_06_18() {
    let form = |properties: &str, required: &str| {
        format!(
            r#"{{"mode":"form","message":"m","requestedSchema":{{"type":"object","properties":{{{properties}}},"required":[{required}]}}}}"#
        )
    };
    let titled = r#""a":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}],"default":"y"}"#;
    let named = r#""a":{"type":"string","default":"y","enum":["x","y"],"enumNames":["X","Y"]}"#;
    let several = r#""b":{"type":"array","items":{"type":"string","enum":["x","y"]}}"#;
    let plain = r#""c":{"type":"integer","default":1.0}"#;
    let fields = |fields: &[&str]| fields.join(",");
    for from in [V11, NEW] {
        for (said, expected) in [
            (form(titled, r#""a""#), form(named, r#""a""#)),
            (form(&fields(&[titled, several, plain]), ""), form(&fields(&[named, plain]), "")),
            (form(plain, ""), form(plain, "")),
        ] {
            let expected = expected.replace(r#""mode":"form","#, ""); // there was no other
            assert_eq!(translated(method::ELICIT, &said, from, V06), Ok(expected));
        }
        let must = form(several, r#""\u0062""#);
        let lacks = translated(method::ELICIT, &must, from, V06).unwrap_err();
        assert_eq!(lacks.to_string(), "revision 2025-06-18 has no multi-select in a form");
        assert_eq!(translated(method::ELICIT, &must, from, NEW), Ok(must));
    }
}

#[test]
fn pages_have_an_id_in_2025_11_25_only() {
    let modern = r#"{"mode":"url","message":"m","url":"x:y"}"#;
    let named = r#"{"mode":"url","message":"m","url":"x:y","elicitationId":"e\"1"}"#;
    assert_eq!(translated(method::ELICIT, modern, NEW, V11).as_deref(), Ok(named));
    let own = named.replace("e\\\"1", "mine");
    assert_eq!(translated(method::ELICIT, &own, NEW, V11).as_deref(), Ok(&*own));
    assert_eq!(translated(method::ELICIT, named, V11, NEW).as_deref(), Ok(modern));
    assert_eq!(translated(method::ELICIT, named, V11, V11).as_deref(), Ok(named));
    for from in [V11, NEW] {
        assert_eq!(translated(method::ELICIT, named, from, V06).unwrap_err().revision, V06);
    }
    assert!(translated(method::ELICIT, r#"{"mode":"voice"}"#, NEW, V06).is_err());
}

#[test]
fn a_client_that_declares_elicitation_before_its_revision_gets_it() {
    for from in [V06, V11, NEW] {
        for to in [V24, V03] {
            assert_eq!(
                translated(method::ELICIT, r#"{"message":"m"}"#, from, to).unwrap(),
                r#"{"message":"m"}"#
            );
        }
    }
}

#[test]
fn sampling_uses_blocks_that_the_client_knows() {
    let sampling = |messages: &str| format!(r#"{{"messages":[{messages}],"maxTokens":1}}"#);
    let message = |content: &str| format!(r#"{{"role":"user","content":{content},"x":1.0}}"#);
    let text = r#"{"type":"text","text":"t"}"#;
    let audio = r#"{"type":"audio","data":"QUJD","mimeType":"audio/wav","_meta":{}}"#;
    let words = r#"{"type":"text","_meta":{},"text":"[audio audio/wav, 3 bytes]"}"#;
    let several = sampling(&message(&format!("[{text}, {audio}]")));
    let apart = |audio: &str| sampling(&format!(r#"{},{{"role":"user","content":{audio}}}"#, message(text)));
    for (said, from, to, expected) in [
        (several.clone(), NEW, V11, several.clone()),
        (several.clone(), NEW, V03, apart(audio)),
        (several, V11, V24, apart(words)),
        (sampling(&message(&format!("[{text}]"))), V11, V06, sampling(&message(text))),
        (sampling(&message(audio)), V06, V24, sampling(&message(words))),
        (sampling(&message("[[]]")), NEW, V24, sampling(&message("[[]]"))),
        (sampling(r#"5,{"role":"user"}"#), NEW, V24, sampling(r#"5,{"role":"user"}"#)),
    ] {
        assert_eq!(translated(method::SAMPLE, &said, from, to), Ok(expected), "{from} → {to}");
    }
}

#[test]
fn tools_in_sampling_need_2025_11_25() {
    let params = |tools: &str| format!(r#"{{"messages":[],{tools}"maxTokens":1}}"#);
    let none = params(r#""tools":[],"toolChoice":{"mode":"none"},"#);
    let some = params(r#""tools":[{"name":"t","outputSchema":{"type":"object"}}],"#);
    let odd = params(r#""tools":[{"name":"t","outputSchema":{"type":"array"}}],"#);
    let used =
        r#"{"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"i","content":[]}}]}"#;
    assert_eq!(translated(method::SAMPLE, &none, V11, V06), Ok(params("")));
    assert_eq!(translated(method::SAMPLE, &some, NEW, V11), Ok(some.clone()));
    assert_eq!(translated(method::SAMPLE, &odd, NEW, V11), Ok(params(r#""tools":[{"name":"t"}],"#)));
    let structured = |value: &str| {
        let block =
            format!(r#"{{"type":"tool_result","toolUseId":"i","content":[],"structuredContent":{value}}}"#);
        format!(r#"{{"messages":[{{"content":[{block}]}},{{"content":{block}}}]}}"#)
    };
    let plain = structured("5").replace(r#","structuredContent":5"#, "");
    assert_eq!(translated(method::SAMPLE, &structured("5"), NEW, V11), Ok(plain));
    assert_eq!(translated(method::SAMPLE, &structured("{}"), NEW, V11), Ok(structured("{}")));
    for said in [&some, used] {
        let lacks = translated(method::SAMPLE, said, NEW, V06).unwrap_err();
        assert_eq!(lacks.to_string(), "revision 2025-06-18 has no tools in sampling");
    }
}

#[test]
fn what_only_legacy_revisions_have_is_left_out_for_modern_ones() {
    let said = r#"{"message":"m","task":{"ttl":1},"_meta":{"progressToken":1,"k":1.0}}"#;
    assert_eq!(
        translated(method::ELICIT, said, V11, NEW).as_deref(),
        Ok(r#"{"message":"m","_meta":{"k":1.0}}"#)
    );
    let expected = r#"{"message":"m","_meta":{"progressToken":1,"k":1.0}}"#;
    assert_eq!(translated(method::ELICIT, said, V11, V06).as_deref(), Ok(expected));
}

#[test]
fn responses_are_translated_for_the_server() {
    let sampled =
        |content: &str| format!(r#"{{"role":"assistant","content":{content},"model":"m","x":1.0}}"#);
    let text = r#"{"type":"text","text":"t"}"#;
    let image = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
    let audio = r#"{"type":"audio","data":"QUJD","mimeType":"audio/wav"}"#;
    for (method, said, from, to, expected) in [
        (method::SAMPLE, sampled(text), NEW, V24, sampled(text)),
        (method::SAMPLE, sampled(&format!("[{text}]")), NEW, V11, sampled(&format!("[{text}]"))),
        (method::SAMPLE, sampled(&format!("[{image}]")), V11, V06, sampled(image)),
        (
            method::SAMPLE,
            sampled(&format!("[{text},{text}]")),
            NEW,
            V06,
            sampled(r#"{"type":"text","text":"t\nt"}"#),
        ),
        (method::SAMPLE, sampled(&format!("[{image},{audio}]")), NEW, V03, sampled(image)),
        (method::SAMPLE, sampled("[]"), NEW, V06, sampled(r#"{"type":"text","text":""}"#)),
        (
            method::SAMPLE,
            sampled(&format!("[{audio}]")),
            NEW,
            V24,
            sampled(r#"{"type":"text","text":"[audio audio/wav, 3 bytes]"}"#),
        ),
        (method::SAMPLE, sampled(audio), V24, NEW, sampled(audio)),
        (
            method::ELICIT,
            r#"{"resultType":"complete","action":"accept","content":{"n":1.0}}"#.to_owned(),
            NEW,
            V11,
            r#"{"action":"accept","content":{"n":1.0}}"#.to_owned(),
        ),
        (
            method::ELICIT,
            r#"{"action": "decline"}"#.to_owned(),
            V06,
            NEW,
            r#"{"action": "decline"}"#.to_owned(),
        ),
        (method::ROOTS_LIST, r#"{"roots": []}"#.to_owned(), NEW, V24, r#"{"roots": []}"#.to_owned()),
    ] {
        assert_eq!(translate_client_response(method, &said, from, to), expected, "{from} → {to}");
    }
}
