//! Any answer or notification between any two revisions.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use toolbay_protocol::{Message, RequestId, Revision, Rope, method};
use toolbay_translate::{answer, input_requests, progress, tagged, url_elicitations};

const ASKED: [&str; 4] = [method::TOOLS_CALL, method::RESOURCES_READ, method::PROMPTS_GET, method::COMPLETE];

fn check(rope: Rope) -> Message {
    let text = rope.into_bytes();
    assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
    Message::parse(text).expect("a translated message is still one")
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let (from, to) = (Revision::ALL[usize::from(choice % 5)], Revision::ALL[usize::from(choice / 5 % 5)]);
    let asked = ASKED[usize::from(choice / 25 % 4)];
    let id = RequestId::from(99);
    match Message::parse(Bytes::copy_from_slice(text)) {
        Ok(Message::Response(said)) => {
            let Message::Response(once) = check(answer(&said, &id, asked, from, to)) else { panic!("no answer") };
            let twice = answer(&once, &id, asked, from, to).into_bytes();
            assert_eq!(twice, once.text);
            let _ = (input_requests(&said), url_elicitations(&said));
        }
        Ok(Message::Notification(note)) => {
            check(progress(&note, "\"token\""));
            check(tagged(&note, &id));
        }
        _ => {}
    }
});
