//! A `tools/call` and its answer in each direction: what every forwarded message costs.

use bytes::Bytes;
use toolbay_protocol::{Message, Request, RequestId, Response, Revision, method};
use toolbay_translate::{ClientIdentity, RequestEdits, request, translate_response};

fn main() {
    divan::main();
}

const SIZES: [usize; 2] = [100, 100 * 1024];
const OLDEST: Revision = Revision::V2024_11_05;
const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;
/// Server and client of the same revision, then each crossing.
const DIRECTIONS: [(Revision, Revision); 5] = [(OLD, OLD), (NEW, NEW), (OLD, NEW), (NEW, OLD), (NEW, OLDEST)];

fn cases() -> impl Iterator<Item = Case> {
    SIZES.into_iter().flat_map(|size| DIRECTIONS.map(|(from, to)| Case { size, from, to }))
}

#[derive(Clone, Copy)]
struct Case {
    size: usize,
    from: Revision,
    to: Revision,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} B, {} → {}", self.size, self.from, self.to)
    }
}

/// Structured rows, close to `size` bytes.
fn rows(size: usize) -> String {
    let row = r#"{"name":"alpha \"beta\"","count":12345,"ratio":0.25,"tags":["x","y"],"ok":true}"#;
    vec![row; (size / row.len()).max(1)].join(",")
}

fn call(case: Case) -> Box<Request> {
    let meta = if case.from.is_modern() {
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"#
    } else {
        ""
    };
    let rows = rows(case.size);
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{meta}"name":"echo","arguments":{{"rows":[{rows}]}}}}}}"#
    );
    let Ok(Message::Request(request)) = Message::parse(Bytes::from(text)) else { panic!("valid") };
    request
}

fn result(case: Case) -> Box<Response> {
    let kind = if case.from.is_modern() { r#""resultType":"complete","# } else { "" };
    let rows = rows(case.size);
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{{kind}"content":[{{"type":"text","text":"rows"}}],"structuredContent":{{"rows":[{rows}]}}}}}}"#
    );
    let Ok(Message::Response(response)) = Message::parse(Bytes::from(text)) else { panic!("valid") };
    response
}

#[divan::bench(args = cases())]
fn to_server(bencher: divan::Bencher<'_, '_>, case: Case) {
    let call = call(case);
    let id = RequestId::from(123_456);
    let client = ClientIdentity::new(case.from, r#"{"name":"c","version":"1"}"#, "{}");
    let change = RequestEdits {
        id: &id,
        renamed: &[],
        wants_progress: true,
        only_as_task: false,
        awaits_tasks: false,
    };
    bencher.bench(|| request(&call, &change, case.from, case.to, &client));
}

#[divan::bench(args = cases())]
fn to_client(bencher: divan::Bencher<'_, '_>, case: Case) {
    let response = result(case);
    let id = RequestId::from(7);
    bencher.bench(|| translate_response(&response, &id, method::TOOLS_CALL, case.from, case.to));
}
