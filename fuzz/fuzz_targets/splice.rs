//! Edits of any message.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use toolbay_protocol::{Message, Outcome, RequestId, Splice};

fuzz_target!(|text: &[u8]| {
    let edited = match Message::parse(Bytes::copy_from_slice(text)) {
        Ok(Message::Request(request)) => {
            let mut splice = Splice::new(&request.call.text);
            splice.replace(request.id_span, "99");
            if let Some(name) = request.call.param("name") {
                splice.replace(name, "\"new\"");
            }
            request.call.insert_meta(&mut splice, &[("added~", "[\n1]")]);
            request.call.edited(splice)
        }
        Ok(Message::Response(response)) => {
            let mut splice = response.with_id(&RequestId::from(99));
            if let Outcome::Result { fields, .. } = &response.outcome {
                for cut in fields.cuts(&response.text, &["a", "b", "_meta"]) {
                    splice.replace(cut, "");
                }
            }
            response.edited(splice)
        }
        _ => return,
    };
    let edited = edited.into_bytes();
    assert!(!edited.contains(&b'\n'));
    match Message::parse(edited).expect("an edited message is still one") {
        Message::Request(request) => {
            assert_eq!(request.id, RequestId::from(99));
            assert!(request.call.param("name").is_none_or(|name| request.call.raw(name) == "\"new\""));
        }
        Message::Response(response) => {
            assert_eq!(response.id, Some(RequestId::from(99)));
            assert!(response.result_field("a").is_none() && response.result_field("_meta").is_none());
        }
        Message::Notification(_) => panic!("the id is gone"),
    }
});
