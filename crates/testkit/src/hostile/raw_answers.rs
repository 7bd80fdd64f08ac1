//! Answers that are wrong in themselves.

use std::{thread, time::Duration};

use super::{message::Asked, output::Output};

/// Legal, but not what anyone expects: unknown fields, numbers beyond 64 bits, needless escapes.
const EXTRA_FIELDS: &str = concat!(
    r#"{"content":[{"type":"text","text":"ok","unknownInBlock":[1,2,{"a":null}]}],"isError":false,"#,
    r#""unknown":{"deep":{"x":null}},"big":12345678901234567890,"bigger":123456789012345678901234567890,"#,
    r#""float":1.0,"exponent":1e400,"tiny":1E-7,"negativeZero":-0,"#,
    r#""escaped":"\u0041\/\ud83d\ude00","empty":{}, "spaced" : [ 1 , 2 ] ,"_meta":{"hostile/key":1.50}}"#
);

/// Writes the answer of the tool `name`, if it is one of these.
pub(super) fn write(name: &str, output: &Output, asked: &Asked) -> bool {
    let id = &asked.id;
    let ok = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    match name {
        "big_line" => big_line(output, asked),
        "endless_line" => output.padded(&head(asked), 0, None),
        "invalid_utf8" => {
            let tail = b"\xff\xfe\"}]}}\n".as_slice();
            output.pieces(&[&[head(asked).as_bytes(), tail].concat()], || ());
        }
        "split_utf8" => {
            let line = format!("{}grüße 😀\"}}]}}}}\n", head(asked));
            let middle = line.find('😀').unwrap_or(0) + 2;
            let (first, second) = line.as_bytes().split_at(middle);
            let pause = Duration::from_millis(asked.number("ms", 50));
            output.pieces(&[first, second], || thread::sleep(pause));
        }
        "duplicate_answer" => {
            output.line(&asked.text("first"));
            output.line(&asked.text("second"));
        }
        "unknown_id_answer" => {
            output.line(&Asked { id: "987654321".to_owned(), ..asked.clone() }.text("nobody asked"));
            output.line(&asked.text("ok"));
        }
        "string_id_answer" => {
            let other =
                if id.starts_with('"') { id.trim_matches('"').to_owned() } else { format!("\"{id}\"") };
            output.line(&Asked { id: other, ..asked.clone() }.text("wrong"));
            output.line(&asked.text("right"));
        }
        "extra_fields" => output.line(&asked.result(EXTRA_FIELDS)),
        "null_result" => output.line(&asked.result("null")),
        "error_without_message" => {
            output.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000}}}}"#));
        }
        "two_envelopes_one_line" => {
            output.line(&format!("{}{}", asked.text("first"), asked.text("second")));
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
        "batch_answer" => output.line(&format!("[{}]", asked.text("ok"))),
        _ => return false,
    }
    true
}

/// The beginning of an answer, up to its text.
fn head(asked: &Asked) -> String {
    let answer = asked.text("");
    answer.strip_suffix("\"}]}}").unwrap_or(&answer).to_owned()
}

fn big_line(output: &Output, asked: &Asked) {
    let bytes = asked.number("bytes", 1024 * 1024) as usize;
    let (head, tail) = if asked.arguments()["id_last"] == true {
        let head = r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":""#.to_owned();
        (head, format!(r#""}}]}},"id":{}}}"#, asked.id))
    } else {
        (head(asked), "\"}]}}".to_owned())
    };
    output.padded(&head, bytes.saturating_sub(head.len() + tail.len()), Some(&tail));
}
