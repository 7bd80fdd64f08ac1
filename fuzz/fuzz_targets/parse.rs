//! The parser against serde_json.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use toolbay_protocol::{Malformed, Message, Scanner, parse_batch};

fuzz_target!(|text: &[u8]| {
    let theirs = serde_json::from_slice::<IgnoredAny>(text).is_ok() && std::str::from_utf8(text).is_ok();
    if std::str::from_utf8(text).is_ok() {
        let mut scanner = Scanner::new(text);
        match scanner.value().and_then(|_| scanner.end()) {
            Ok(()) => assert!(theirs, "we accept what is no JSON"),
            Err(Malformed::TooDeep) => {}
            Err(why) => assert!(!theirs, "we refuse JSON: {why}"),
        }
    }
    let bytes = Bytes::copy_from_slice(text);
    let _ = parse_batch(bytes.clone());
    match Message::parse(bytes) {
        Ok(_) => assert!(theirs),
        Err(Malformed::Syntax { .. } | Malformed::Truncated | Malformed::Utf8 { .. }) => assert!(!theirs),
        Err(_) => {}
    }
});
