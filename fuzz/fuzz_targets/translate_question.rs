//! Any question of a server, and any answer to it, between any two revisions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use toolbay_protocol::{Revision, method};
use toolbay_translate::{ClientCapabilities, capabilities_for_server, question, question_answer, tool_for};

const ASKED: [&str; 3] = [method::ELICIT, method::SAMPLE, method::ROOTS_LIST];

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let (from, to) = (Revision::ALL[usize::from(choice % 5)], Revision::ALL[usize::from(choice / 5 % 5)]);
    let asked = ASKED[usize::from(choice / 25 % 3)];
    let was_json = is_json(text.as_bytes());
    if let Ok(there) = question(asked, Some(text), from, to, "id") {
        assert_eq!(is_json(there.as_bytes()), was_json);
    }
    assert_eq!(is_json(question_answer(asked, text, from, to).as_bytes()), was_json);
    assert_eq!(is_json(&tool_for(text.as_bytes(), to)), was_json);
    assert!(is_json(capabilities_for_server(text, from).as_bytes()) || from.is_modern());
    ClientCapabilities::parse(text, from).can_answer(asked, Some(text));
});
