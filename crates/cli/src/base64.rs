//! The bytes of binary resources.

/// Decodes base64, padded or not; nothing if it is none.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'\r' | b'\n' => continue,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    (count < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn what_is_encoded_comes_back() {
        for (text, bytes) in [
            ("", Some(&b""[..])),
            ("Zm9vYg==", Some(b"foob")),
            ("Zm9vYmE", Some(b"fooba")),
            ("A", None),
            ("a*", None),
        ] {
            assert_eq!(decode(text).as_deref(), bytes, "{text}");
        }
    }
}
