use super::*;

fn there_and_back(bytes: &[u8]) -> Text {
    let text = Text::decode(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"));
    assert_eq!(text.encode().unwrap(), bytes);
    text
}

#[test]
fn encodings_are_recognized_and_kept() {
    let utf_16 = |order: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}grün\r\nblau\n").encode_utf16().flat_map(order).collect()
    };
    for (bytes, name, mark) in [
        (b"plain\n".to_vec(), "UTF-8", false),
        ("grün\n".as_bytes().to_vec(), "UTF-8", false),
        ("\u{feff}grün\n".as_bytes().to_vec(), "UTF-8", true),
        (b"gr\xfcn\r\n".to_vec(), "windows-1252", false),
        (b"\x80uro \x81\n".to_vec(), "windows-1252", false),
        (utf_16(u16::to_le_bytes, "\u{feff}"), "UTF-16LE", true),
        (utf_16(u16::to_be_bytes, "\u{feff}"), "UTF-16BE", true),
        (utf_16(u16::to_le_bytes, ""), "UTF-16LE", false),
        (utf_16(u16::to_be_bytes, ""), "UTF-16BE", false),
        (Vec::new(), "UTF-8", false),
    ] {
        let text = there_and_back(&bytes);
        assert_eq!(
            (text.encoding().name(), text.encoding().has_byte_order_mark()),
            (name, mark),
            "{bytes:?}"
        );
    }
    assert_eq!(there_and_back(b"gr\xfcn\r\n").as_str(), "grün\n");
    assert_eq!(Text::decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap_err(), DecodeError::Binary);
}

#[test]
fn damaged_utf_8_keeps_its_bytes() {
    let bytes =
        "größer und kühner\n".as_bytes().iter().copied().chain(*b"\xff\xfe odd \xc3\n").collect::<Vec<_>>();
    let mut text = there_and_back(&bytes);
    assert_eq!(text.encoding().name(), "UTF-8");
    let at = text.as_str().find("odd").unwrap();
    text.replace(at..at + 3, "ö");
    let expected: Vec<u8> =
        "größer und kühner\n".as_bytes().iter().copied().chain(*b"\xff\xfe \xc3\xb6 \xc3\n").collect();
    assert_eq!(text.encode().unwrap(), expected);
}

#[test]
fn lines_that_are_not_changed_keep_their_endings() {
    let mut text = there_and_back(b"one\r\ntwo\nthree\r\nfour\r\n");
    assert_eq!((text.as_str(), text.line_ending()), ("one\ntwo\nthree\nfour\n", LineEnding::CrLf));
    text.replace(0..13, "one\ntwo\n2.5\nthree");
    assert_eq!(text.encode().unwrap(), b"one\r\ntwo\n2.5\r\nthree\r\nfour\r\n");
    text.replace(4..8, "");
    assert_eq!(text.encode().unwrap(), b"one\r\n2.5\r\nthree\r\nfour\r\n");

    let mut text = there_and_back(b"one\r\ntwo\nthree\nfour\n");
    text.replace(8..8, "2\r\n3\n");
    assert_eq!(text.encode().unwrap(), b"one\r\ntwo\n2\n3\nthree\nfour\n");

    let mut text = there_and_back(b"one\r\ntwo");
    text.replace(7..7, "\nthree\n");
    assert_eq!(text.encode().unwrap(), b"one\r\ntwo\r\nthree\r\n");
}

#[test]
fn characters_that_an_encoding_lacks_are_named() {
    let mut text = there_and_back(b"gr\xfcn");
    text.replace(0..1, "→");
    let error = text.encode().unwrap_err().to_string();
    assert_eq!(error, "the file is encoded in windows-1252, which has no character '→'");
    assert!(Text::decode_named(b"\x82\xa0", "shift_jis").unwrap().as_str() == "あ");
    for label in ["latin1", "latin-1", "latin_1", "ISO8859-1", "iso8859_1"] {
        assert_eq!(Text::decode_named(b"gr\xfcn", label).unwrap().as_str(), "grün", "{label}");
    }
    assert_eq!(Text::decode_named(b"\xa4\xa2", "euc_jp").unwrap().as_str(), "あ");
    assert!(matches!(Text::decode_named(b"\x82", "shift_jis"), Err(DecodeError::Invalid { .. })));
    assert!(matches!(Text::decode_named(b"a", "klingon"), Err(DecodeError::Unknown { .. })));
}
