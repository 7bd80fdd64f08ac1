//! Any request between any two revisions.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use toolbay_protocol::{LogLevel, Message, RequestId, Revision};
use toolbay_translate::{ClientIdentity, Readdressed, request, retry};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let (from, to) = (Revision::ALL[usize::from(choice % 5)], Revision::ALL[usize::from(choice / 5 % 5)]);
    let Ok(Message::Request(asked)) = Message::parse(Bytes::copy_from_slice(text)) else { return };
    let client = ClientIdentity::new(from, "{\"name\":\r\n\"c\"}", "{}").at_level(Some(LogLevel::Info));
    let id = RequestId::from(99);
    let change = Readdressed { id: &id, renamed: &[], wants_progress: choice >= 128, only_as_task: choice >= 64, awaits_tasks: false };
    let responses = [("key".to_owned(), "{\n}".to_owned())];
    for text in [
        request(&asked, &change, from, to, &client).into_bytes(),
        retry(&asked, &responses, Some("\"state\"")),
    ] {
        assert!(!text.contains(&b'\n') && !text.contains(&b'\r'));
        assert!(matches!(Message::parse(text), Ok(Message::Request(_))), "a translated request is still one");
    }
});
