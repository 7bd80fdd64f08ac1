//! One message in, at most one answer out, whichever the transport.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

const KNOWN_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const NEWEST_LEGACY: &str = "2025-11-25";
const SERVER_INFO: &str = r#"{"name":"toolbay-echo","version":"0.1.0"}"#;
const TOOLS: &str = concat!(
    r#""tools":[{"name":"echo","description":"Gives back its payload.","inputSchema":{"type":"object","#,
    r#""properties":{"payload":{"type":"string"}},"required":["payload"]}}]"#
);
const COMPLETE: &str = r#""resultType":"complete","#;

/// What [`answer`] did with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A notification or an answer: nothing is to be sent back.
    Silent,
    /// The answer was appended.
    Answered,
    /// The answer to `initialize` was appended: over HTTP it opens a session.
    Initialized,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

/// The parameters of every method we know, together: one pass over the bytes finds them all.
#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
    #[serde(borrow, rename = "protocolVersion")]
    protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<&'a RawValue>,
}

/// Appends the answer to `message`, without a line end, to `out`.
pub fn answer(message: &[u8], out: &mut Vec<u8>) -> Outcome {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(message) else {
        error(out, "null", -32700, "not a message this server can read");
        return Outcome::Answered;
    };
    let (Some(id), Some(method)) = (message.id, message.method) else {
        return Outcome::Silent;
    };
    let id = id.get();
    let params = message.params.unwrap_or_default();
    let modern = params.meta.as_ref().is_some_and(|meta| meta.protocol_version.is_some());
    let complete = if modern { COMPLETE } else { "" };
    match &*method {
        "tools/call" => call(out, id, &params, complete),
        "ping" => result(out, id, &["{", complete.trim_end_matches(','), "}"]),
        "tools/list" if modern => {
            result(out, id, &["{", complete, r#""ttlMs":60000,"cacheScope":"public","#, TOOLS, "}"]);
        }
        "tools/list" => result(out, id, &["{", TOOLS, "}"]),
        "initialize" => {
            let revision = params.protocol_version.as_deref().filter(|asked| KNOWN_REVISIONS.contains(asked));
            let revision = revision.unwrap_or(NEWEST_LEGACY);
            let middle = r#"","capabilities":{"tools":{}},"serverInfo":"#;
            result(out, id, &[r#"{"protocolVersion":""#, revision, middle, SERVER_INFO, "}"]);
            return Outcome::Initialized;
        }
        "server/discover" => {
            let head =
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#;
            let tail =
                r#""ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":"#;
            result(out, id, &[head, tail, SERVER_INFO, "}}"]);
        }
        _ => error(out, id, -32601, "method not found"),
    }
    Outcome::Answered
}

fn call(out: &mut Vec<u8>, id: &str, params: &Params<'_>, complete: &str) {
    if params.name.as_deref() != Some("echo") {
        return error(out, id, -32602, "unknown tool");
    }
    let payload = params.arguments.as_ref().and_then(|arguments| arguments.payload).map(RawValue::get);
    match payload.filter(|payload| payload.starts_with('"')) {
        Some(payload) => {
            result(out, id, &["{", complete, r#""content":[{"type":"text","text":"#, payload, "}]}"]);
        }
        None => error(out, id, -32602, "`payload` must be a string"),
    }
}

fn result(out: &mut Vec<u8>, id: &str, parts: &[&str]) {
    push(out, &[r#"{"jsonrpc":"2.0","id":"#, id, r#","result":"#]);
    push(out, parts);
    out.push(b'}');
}

fn error(out: &mut Vec<u8>, id: &str, code: i32, text: &str) {
    let code = code.to_string();
    push(
        out,
        &[r#"{"jsonrpc":"2.0","id":"#, id, r#","error":{"code":"#, &code, r#","message":""#, text, r#""}}"#],
    );
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    out.reserve(parts.iter().map(|part| part.len()).sum::<usize>() + 1);
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(message: &str) -> String {
        let mut out = Vec::new();
        answer(message.as_bytes(), &mut out);
        serde_json::from_slice::<&RawValue>(&out).map_or_else(|_| String::new(), |raw| raw.get().to_owned())
    }

    #[test]
    fn a_payload_comes_back_byte_for_byte() {
        let asked = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"payload":"\u0061\n"}}}"#;
        let expected =
            r#"{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"\u0061\n"}]}}"#;
        assert_eq!(answered(asked), expected);
    }

    #[test]
    fn a_modern_call_gets_a_result_type() {
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"payload":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"x"}]}}"#;
        assert_eq!(answered(asked), expected);
    }

    #[test]
    fn initialize_answers_with_the_revision_asked_for_if_known() {
        for (asked, expected) in [("2025-03-26", "2025-03-26"), ("1999-01-01", NEWEST_LEGACY)] {
            let message = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{asked}"}}}}"#
            );
            assert!(answered(&message).contains(expected), "{asked}");
        }
    }

    #[test]
    fn notifications_are_not_answered_and_unknown_requests_are() {
        assert_eq!(answered(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), "");
        assert!(answered(r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#).contains("-32601"));
        assert!(answered("{").contains("-32700"));
        assert!(
            answered(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}"#)
                .contains("-32602")
        );
    }
}
