//! Answers that are wrong in themselves.

use std::{thread, time::Duration};

use super::{message::ParsedRequest, output::Output};

/// Legal, but not what anyone expects: unknown fields, numbers beyond 64 bits, needless escapes.
const EXTRA_FIELDS: &str = concat!(
    r#"{"content":[{"type":"text","text":"ok","unknownInBlock":[1,2,{"a":null}]}],"isError":false,"#,
    r#""unknown":{"deep":{"x":null}},"big":12345678901234567890,"bigger":123456789012345678901234567890,"#,
    r#""float":1.0,"exponent":1e400,"tiny":1E-7,"negativeZero":-0,"#,
    r#""escaped":"\u0041\/\ud83d\ude00","empty":{}, "spaced" : [ 1 , 2 ] ,"_meta":{"hostile/key":1.50}}"#
);

/// Writes the answer of the tool `name`, if it is one of these.
pub(super) fn write(name: &str, output: &Output, request: &ParsedRequest) -> bool {
    let id = &request.id;
    let ok = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    match name {
        "big_line" => big_line(output, request),
        "many_blocks" => {
            let block = |number| format!(r#"{{"type":"text","text":"block {number}"}}"#);
            let blocks: Vec<String> = (0..request.number("count", 10_000)).map(block).collect();
            output.line(&request.result(&format!(r#"{{"content":[{}]}}"#, blocks.join(","))));
        }
        "big_structured" => {
            let row = |number| format!(r#"{{"id":{number},"name":"row {number}"}}"#);
            let rows: Vec<String> = (0..request.number("rows", 100_000)).map(row).collect();
            let structured = format!(r#"{{"count":{},"rows":[{}]}}"#, rows.len(), rows.join(","));
            let content = r#"[{"type":"text","text":"see structuredContent"}]"#;
            output.line(
                &request.result(&format!(r#"{{"content":{content},"structuredContent":{structured}}}"#)),
            );
        }
        "endless_line" => output.padded(&head(request), 0, None),
        "invalid_utf8" => {
            let tail = b"\xff\xfe\"}]}}\n".as_slice();
            output.pieces(&[&[head(request).as_bytes(), tail].concat()], || ());
        }
        "split_utf8" => {
            let line = format!("{}grüße 😀\"}}]}}}}\n", head(request));
            let middle = line.find('😀').unwrap_or(0) + 2;
            let (first, second) = line.as_bytes().split_at(middle);
            let pause = Duration::from_millis(request.number("ms", 50));
            output.pieces(&[first, second], || thread::sleep(pause));
        }
        "duplicate_answer" => {
            output.line(&request.text("first"));
            output.line(&request.text("second"));
        }
        "unknown_id_answer" => {
            output.line(
                &ParsedRequest { id: "987654321".to_owned(), ..request.clone() }.text("nobody request"),
            );
            output.line(&request.text("ok"));
        }
        "string_id_answer" => {
            let other =
                if id.starts_with('"') { id.trim_matches('"').to_owned() } else { format!("\"{id}\"") };
            output.line(&ParsedRequest { id: other, ..request.clone() }.text("wrong"));
            output.line(&request.text("right"));
        }
        "extra_fields" => output.line(&request.result(EXTRA_FIELDS)),
        "null_result" => output.line(&request.result("null")),
        "error_without_message" => {
            output.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000}}}}"#));
        }
        "two_envelopes_one_line" => {
            output.line(&format!("{}{}", request.text("first"), request.text("second")));
        }
        "duplicate_keys" => {
            let keys = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{ok},"id":987654321,"result":{{}}}}"#);
            output.line(&keys);
        }
        "wrong_jsonrpc" => output.line(&format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{ok}}}"#)),
        "no_jsonrpc" => output.line(&format!(r#"{{"id":{id},"result":{ok}}}"#)),
        "result_and_error" => {
            let error = r#"{"code":-32000,"message":"both"}"#;
            output.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{ok},"error":{error}}}"#));
        }
        "batch_answer" => output.line(&format!("[{}]", request.text("ok"))),
        _ => return false,
    }
    true
}

/// The beginning of an answer, up to its text.
fn head(request: &ParsedRequest) -> String {
    let answer = request.text("");
    answer.strip_suffix("\"}]}}").unwrap_or(&answer).to_owned()
}

fn big_line(output: &Output, request: &ParsedRequest) {
    let bytes = request.number("bytes", 1024 * 1024) as usize;
    let (head, tail) = if request.arguments()["id_last"] == true {
        let head = r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":""#.to_owned();
        (head, format!(r#""}}]}},"id":{}}}"#, request.id))
    } else {
        (head(request), "\"}]}}".to_owned())
    };
    output.padded(&head, bytes.saturating_sub(head.len() + tail.len()), Some(&tail));
}
