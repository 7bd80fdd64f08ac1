//! Tool parameters that clients on HTTP repeat in headers (`x-mcp-header`), so that those between client and server can
//! route without reading bodies.
//!
//! Pure text work for both sides: which parameters those are, what a call says in them, and how that is written in a
//! header. The parameters are found once, when a list of tools arrives.

mod annotation;

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{ParseError, Scanner, decode_string, json::string::key_is};

pub use annotation::{BadAnnotation, header_params, without_annotations};

/// The prefix of such headers, in lower case: names of headers ignore case.
pub const HEADER_PREFIX: &str = "mcp-param-";

/// A parameter that stands in a header, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderParam {
    /// What the header's name ends with, as the tool spells it.
    pub name: String,
    /// The keys that lead to the value in `arguments`; never empty.
    pub path: Vec<String>,
    /// Whether it is an integer, which has more than one spelling.
    pub is_integer: bool,
}

/// Arguments in which a value cannot be found without guessing: keys that stand twice, or no JSON at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are ambiguous")]
pub struct AmbiguousArguments;

impl HeaderParam {
    /// The name of its header, in lower case.
    pub fn header_name(&self) -> String {
        format!("{HEADER_PREFIX}{}", self.name.to_ascii_lowercase())
    }

    /// What `arguments` (JSON text) say in it, not yet encoded for a header. Nothing when there is no value, when it is
    /// null, or when it is an object or an array, which no header can carry.
    pub fn value_in<'a>(&self, arguments: &'a [u8]) -> Result<Option<Cow<'a, str>>, AmbiguousArguments> {
        let mut raw = arguments;
        for key in &self.path {
            match member(raw, key)? {
                Some(value) => raw = value,
                None => return Ok(None),
            }
        }
        Ok(plain(raw, self.is_integer))
    }

    /// Whether a decoded header has the same value as the body. Integers are compared as numbers.
    pub fn agree(&self, header: &str, body: &str) -> bool {
        header == body || (self.is_integer && integer(header).is_some_and(|it| Some(it) == integer(body)))
    }
}

/// The member `key` of an object; nothing when it has none, or is no object.
fn member<'a>(object: &'a [u8], key: &str) -> Result<Option<&'a [u8]>, AmbiguousArguments> {
    let mut scanner = Scanner::new(object);
    if scanner.peek_kind() != Ok(b'{') {
        return Ok(None);
    }
    let mut found = None;
    let walked = scanner.object(|scanner, written| {
        let value = scanner.value()?;
        if key_is(&object[written.range()], key) && found.replace(value).is_some() {
            return Err(ParseError::DuplicateKey { object: "arguments", key: key.to_owned() });
        }
        Ok(())
    });
    walked.map_err(|_| AmbiguousArguments)?;
    Ok(found.map(|span| &object[span.range()]))
}

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
fn plain(raw: &[u8], is_integer: bool) -> Option<Cow<'_, str>> {
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
fn integer(text: &str) -> Option<i64> {
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
