//! Values on their way into a header and out of it.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::decode_string;

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";
/// The largest integer that every JSON reader keeps exact.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// A text as a header can carry it: as it stands where that is safe, else in base64.
pub fn encode_header_value(text: &str) -> Cow<'_, str> {
    let is_encoded = text.starts_with(OPEN) && text.ends_with(CLOSE);
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text && !is_encoded;
    if is_plain { text.into() } else { format!("{OPEN}{}{CLOSE}", STANDARD.encode(text)).into() }
}

/// What the value of a header means; nothing when its base64 is broken.
pub fn decode_header_value(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = value.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) else {
        return Some(value.into());
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// A JSON value as text for a header; nothing for null, objects and arrays.
pub(super) fn plain(raw: &[u8], is_integer: bool) -> Option<Cow<'_, str>> {
    match raw.first()? {
        b'"' => decode_string(raw),
        b'{' | b'[' | b'n' => None,
        _ => {
            let text = std::str::from_utf8(raw).ok()?;
            match is_integer.then(|| integer(text)).flatten() {
                Some(number) => Some(number.to_string().into()),
                None => Some(text.into()),
            }
        }
    }
}

/// The integer that a JSON number means, however it is written, if it is one that all readers agree on.
pub(super) fn integer(text: &str) -> Option<i64> {
    // `f64` would also read `inf`, `+1` and `.5`.
    let is_number = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !is_number {
        return None;
    }
    let number = match text.parse::<i64>() {
        Ok(number) => number,
        Err(_) => {
            let number = text.parse::<f64>().ok()?;
            // The cast saturates, and what is saturated is not safe.
            if number.fract() == 0.0 { number as i64 } else { return None }
        }
    };
    (-MAX_SAFE..=MAX_SAFE).contains(&number).then_some(number)
}
