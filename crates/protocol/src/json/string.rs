//! The insides of JSON strings.

use std::borrow::Cow;

use crate::json::simd::{BLOCK, Window, is_stop, stops};

/// How many bytes at the start of `text` are plain string content: no quote, no backslash, no control character.
#[inline]
pub(crate) fn plain_run(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk() {
        let stops = stops(block);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    at + text[at..].iter().take_while(|&&byte| !is_stop(byte)).count()
}

/// Whether the inside of a string is written with escapes.
pub(crate) fn is_escaped(written: &[u8]) -> bool {
    plain_run(written) < written.len()
}

/// Whether a key as written (between its quotes) means `name`.
pub(crate) fn key_is(written: &[u8], name: &str) -> bool {
    written == name.as_bytes() || (is_escaped(written) && *decode_inner(written) == *name)
}

/// The meaning of the inside of a JSON string that the scanner accepted. Lone surrogates become U+FFFD.
pub(crate) fn decode_inner(written: &[u8]) -> Cow<'_, str> {
    let text = std::str::from_utf8(written).unwrap_or_default();
    let Some((plain, mut escaped)) = text.split_once('\\') else { return Cow::Borrowed(text) };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(plain);
    loop {
        let (char, rest) = decode_escape(escaped);
        decoded.push(char);
        match rest.split_once('\\') {
            Some((plain, next)) => {
                decoded.push_str(plain);
                escaped = next;
            }
            None => {
                decoded.push_str(rest);
                return Cow::Owned(decoded);
            }
        }
    }
}

/// Walks the inside of a JSON string (without its quotes) that the scanner accepted, without decoding all of it at once.
/// `on_piece` gets each run of plain text, and each escape, with how many bytes it is written with; the walk ends when it returns
/// false.
pub fn decode_pieces(inner: &[u8], mut on_piece: impl FnMut(usize, &str) -> bool) {
    let mut rest = std::str::from_utf8(inner).unwrap_or_default();
    while !rest.is_empty() {
        let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            let (run, after) = rest.split_at(plain);
            if !on_piece(plain, run) {
                return;
            }
            rest = after;
            continue;
        }
        let (char, after) = decode_escape(&rest[1..]);
        if !on_piece(rest.len() - after.len(), char.encode_utf8(&mut [0; 4])) {
            return;
        }
        rest = after;
    }
}

/// What the text behind a backslash stands for, and what follows.
fn decode_escape(text: &str) -> (char, &str) {
    let mut chars = text.chars();
    let char = match chars.next() {
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('u') => return decode_unicode(chars.as_str()),
        Some(itself) => itself,
        None => char::REPLACEMENT_CHARACTER,
    };
    (char, chars.as_str())
}

/// As [`decode_escape`], behind `\u`. Half a pair stands for U+FFFD.
fn decode_unicode(text: &str) -> (char, &str) {
    let Some((unit, rest)) = hex_unit(text) else { return (char::REPLACEMENT_CHARACTER, text) };
    if let Some((low, after)) = rest.strip_prefix("\\u").and_then(hex_unit)
        && let Some(Ok(char)) = char::decode_utf16([unit, low]).next()
        && char > '\u{ffff}'
    {
        return (char, after);
    }
    (char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER), rest)
}

fn hex_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u16::from_str_radix(digits, 16).ok()?, rest))
}

/// The meaning of a JSON string with its quotes, or nothing when the text is not a string.
pub fn decode_string(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(decode_inner(inner))
}

/// `text` as a JSON string with its quotes.
pub fn encode_string(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 16 + 2);
    encoded.push('"');
    let (mut window, mut from) = (Window::default(), 0);
    loop {
        let stop = window.next_stop(text.as_bytes(), from);
        encoded.push_str(&text[from..stop]); // stops are ASCII
        let Some(&byte) = text.as_bytes().get(stop) else { break };
        match byte {
            b'\n' => encoded.push_str("\\n"),
            b'"' => encoded.push_str("\\\""),
            b'\\' => encoded.push_str("\\\\"),
            b'\t' => encoded.push_str("\\t"),
            b'\r' => encoded.push_str("\\r"),
            0x08 => encoded.push_str("\\b"),
            0x0c => encoded.push_str("\\f"),
            control => {
                encoded.push_str("\\u00");
                encoded.extend(
                    [control >> 4, control & 0xf].map(|digit| char::from(HEXADECIMAL[usize::from(digit)])),
                );
            }
        }
        from = stop + 1;
    }
    encoded.push('"');
    encoded
}

const HEXADECIMAL: [u8; 16] = *b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::{decode_pieces, decode_string, encode_string};

    #[test]
    fn pieces_are_what_the_whole_means() {
        for inner in ["", "plain", r"\n", r#"a\\nb\u00e4\ud83d\ude00\ud83dx\"c\""#, "\\u0041ö\\/"] {
            let (mut decoded, mut written) = (String::new(), 0);
            decode_pieces(inner.as_bytes(), |length, piece| {
                written += length;
                decoded.push_str(piece);
                true
            });
            assert_eq!(decoded, decode_string(format!("\"{inner}\"").as_bytes()).unwrap(), "{inner}");
            assert_eq!(written, inner.len());
        }
    }

    #[test]
    fn strings_are_encoded_as_others_do_it() {
        let all: String = (0..0x2_ffff).filter_map(char::from_u32).collect();
        let long = "a line\n\tand \"another\\\n".repeat(100);
        for text in ["", "plain", "ä\u{7f}\u{2028}\u{0}", &all, &long] {
            for end in (0..text.len().min(300)).chain([text.len()]) {
                let Some(text) = text.get(..end) else { continue };
                assert_eq!(encode_string(text), serde_json::to_string(text).unwrap());
            }
        }
    }
}
