//! The envelope parser against `serde_json` reading the same envelope, on the sizes that the hub sees.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolbay_protocol::{Message, Splice};

fn main() {
    divan::main();
}

const SIZES: [usize; 3] = [100, 8 * 1024, 100 * 1024];

/// A structured `tools/call`, close to `size` bytes.
fn call(size: usize) -> Bytes {
    let row = r#"{"name":"alpha \"beta\"","count":12345,"ratio":0.25,"tags":["x","y"],"ok":true}"#;
    let rows = vec![row; (size / row.len()).max(1)].join(",");
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo__echo","arguments":{{"rows":[{rows}]}}}}}}"#
    );
    Bytes::from(text)
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    params: &'a RawValue,
}

#[divan::bench(args = SIZES)]
fn ours(bencher: divan::Bencher<'_, '_>, size: usize) {
    let text = call(size);
    bencher
        .counter(divan::counter::BytesCount::new(text.len()))
        .bench(|| Message::parse(text.clone()).expect("valid"));
}

#[divan::bench(args = SIZES)]
fn serde_raw_value(bencher: divan::Bencher<'_, '_>, size: usize) {
    let text = call(size);
    bencher.counter(divan::counter::BytesCount::new(text.len())).bench(|| {
        serde_json::from_slice::<Envelope<'_>>(&text)
            .map(|envelope| envelope.params.get().len())
            .expect("valid")
    });
}

#[divan::bench(args = SIZES)]
fn splice_name_and_id(bencher: divan::Bencher<'_, '_>, size: usize) {
    let Ok(Message::Request(request)) = Message::parse(call(size)) else { panic!("valid") };
    bencher.bench(|| {
        let mut splice = Splice::new(&request.call.text);
        splice.replace(request.id_span, "123456");
        splice.replace(request.call.param("name").expect("has one"), "\"echo\"");
        request.call.edited(splice).len()
    });
}
