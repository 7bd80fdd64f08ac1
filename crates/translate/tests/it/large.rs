//! Messages made to exhaust us: what a step does grows with the text, never faster.

use std::time::{Duration, Instant};

use toolbay_protocol::{Revision, method};
use toolbay_translate::{input_requests, tool_for, translate_server_request};

use crate::text::response;

const MANY: usize = 20_000;

/// `item` with every number up to [`MANY`], as the fields or items of something.
fn many(item: impl Fn(usize) -> String) -> String {
    (0..MANY).map(item).collect::<Vec<_>>().join(",")
}

/// Far more than a linear walk needs and far less than a quadratic one does.
fn in_time<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = what();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    done
}

#[test]
fn large_forms_schemas_and_rounds_take_no_longer_than_they_are() {
    let fields = many(|n| format!(r#""p{n}":{{"oneOf":[{{"const":"a","title":"A"}}]}}"#));
    let names = many(|n| format!(r#""p{n}""#));
    let form = format!(r#"{{"requestedSchema":{{"properties":{{{fields}}},"required":[{names}]}}}}"#);
    in_time(|| {
        translate_server_request(method::ELICIT, Some(&form), Revision::LATEST, Revision::V2025_06_18, "")
    })
    .unwrap();

    let fields = many(|n| format!(r#""p{n}":true"#));
    let tool = format!(r#"{{"inputSchema":{{"properties":{{{fields}}}}}}}"#);
    in_time(|| tool_for(tool.as_bytes(), Revision::V2025_11_25));

    let requests = many(|n| format!(r#""k{n}":{{"method":"roots/list"}}"#));
    let asks = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{{requests}}}}}}}"#
    );
    in_time(|| input_requests(&response(&asks)).unwrap().to_result());
}

#[test]
fn fields_besides_the_blocks_are_copied_once() {
    let blocks = many(|_| r#"{"type":"text","text":""}"#.to_owned());
    let noise = "x".repeat(MANY);
    let params = format!(r#"{{"messages":[{{"role":"user","content":[{blocks}],"x":"{noise}"}}]}}"#);
    let there =
        translate_server_request(method::SAMPLE, Some(&params), Revision::LATEST, Revision::V2025_06_18, "")
            .unwrap();
    assert!(there.len() < 4 * params.len());
}
