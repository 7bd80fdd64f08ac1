//! Bytes of a file as text.

/// The text in some bytes: UTF-8, or UTF-16 with its mark. Bytes that are no text in a file that else is one become U+FFFD;
/// what has a NUL byte is no text, as for ripgrep.
pub(crate) fn decode(bytes: Vec<u8>) -> Option<String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].as_chunks::<2>().0.iter().map(|pair| read(*pair)).collect();
        Some(String::from_utf16_lossy(&units))
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => return wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return wide(u16::from_be_bytes),
        _ => {}
    }
    if memchr::memchr(0, &bytes).is_some() {
        return None;
    }
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.starts_with('\u{feff}') {
        text.drain(..3);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_kinds() {
        assert_eq!(decode(b"\xef\xbb\xbfabc".to_vec()).as_deref(), Some("abc"));
        assert_eq!(decode(b"\xff\xfea\0b\0".to_vec()).as_deref(), Some("ab"));
        assert_eq!(decode(b"\xfe\xff\0a".to_vec()).as_deref(), Some("a"));
        assert_eq!(decode(b"a\xffb".to_vec()).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(decode(b"a\0b".to_vec()), None);
    }
}
