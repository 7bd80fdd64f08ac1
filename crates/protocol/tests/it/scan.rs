//! The scanner accepts what serde_json skips over, and sees the same spans.

use std::collections::HashSet;

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use toolbay_protocol::{MAX_DEPTH, ParseError, Scanner, decode_string, encode_string};

use crate::json;

fn scan(text: &str) -> Result<(), ParseError> {
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.value()?;
    scanner.end()
}

/// Depth as the scanner counts it, outside of strings.
fn depth(text: &str) -> u32 {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_u32, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn agrees(text: &str) {
    let theirs = serde_json::from_str::<IgnoredAny>(text);
    let ours = scan(text);
    if depth(text) <= MAX_DEPTH {
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{text}\nours: {ours:?}\ntheirs: {theirs:?}");
    }
}

#[test]
fn edges_of_the_grammar() {
    let texts = [
        "",
        " ",
        "0",
        "-0",
        "-",
        "00",
        "01",
        "-01",
        "1.",
        ".1",
        "1.0",
        "1e",
        "1e+",
        "1E-2",
        "1e400",
        "+1",
        "1_0",
        "0x1",
        "NaN",
        "Infinity",
        "tru",
        "true",
        "truee",
        "nul",
        "nullx",
        "True",
        "\"",
        "\"\\\"",
        "\"\\u12\"",
        "\"\\u123g\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\x\"",
        "\"\t\"",
        "\"\u{0}\"",
        "\"\u{1f}\"",
        "\"\u{7f}\"",
        "'a'",
        "[",
        "]",
        "[]",
        "[ ]",
        "[,]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1,,2]",
        "[[]",
        "[]]",
        "[}",
        "{",
        "}",
        "{}",
        "{ }",
        "{,}",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1]",
        "{a:1}",
        "{\"a\":{}}",
        "[{]}",
        "1 1",
        "1,",
        "// no\n1",
        "\u{feff}1",
        "\u{a0}1",
        "\u{c}1",
        "\u{b}1",
        "12345678901234567890",
        "[1]\u{0}",
        "\u{0}",
    ];
    for text in texts {
        agrees(text);
    }
}

#[test]
fn strings_of_every_length_end_where_they_end() {
    for length in 0..70 {
        for stop in ["", "\\n", "\\\"", "\n", "\\", "ä", "\u{1f}"] {
            for behind in ["", "\"", "\",1]", "\"                    "] {
                agrees(&format!(
                    "{}\"{}{stop}{behind}",
                    if behind.contains(']') { "[" } else { "" },
                    "x".repeat(length)
                ));
            }
        }
    }
}

#[test]
fn numbers_that_do_not_fit_are_noticed() {
    let wide = |text: &str| {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.value().unwrap();
        scanner.saw_wide_number()
    };
    for text in ["0", "-1", "123456789012345678", "0.25", "1.0", "-1.2345678901"] {
        assert!(!wide(text), "{text}");
    }
    for text in
        ["12345678901234567890", "1e400", "1e2", "0.12345678901234567", "[1,{\"a\":99999999999999999999}]"]
    {
        assert!(wide(text), "{text}");
    }
}

#[test]
fn escapes_mean_what_they_mean() {
    for (written, meaning) in [
        (r#""plain""#, "plain"),
        (r#""n\u0061me""#, "name"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\ud834\udd1e""#, "𝄞"),
        (r#""\ud834""#, "\u{fffd}"),
        (r#""\udd1e\ud834x""#, "\u{fffd}\u{fffd}x"),
        (r#""\ud834\u0061""#, "\u{fffd}a"),
        (r#""\ud834\ud834\udd1e""#, "\u{fffd}𝄞"),
        (r#""a\u0062c\ud800\u0064""#, "abc\u{fffd}d"),
    ] {
        assert_eq!(decode_string(written.as_bytes()).as_deref(), Some(meaning), "{written}");
    }
    for text in ["1", "\"", "", "\"a", "a\""] {
        assert_eq!(decode_string(text.as_bytes()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn correct_text_passes(text in json::value()) {
        prop_assert_eq!(scan(&text), Ok(()));
        agrees(&text);
    }

    /// One byte of a correct text changed, dropped or doubled.
    #[test]
    fn nearly_correct_text_is_judged_alike(text in json::value(), at in any::<prop::sample::Index>(), new in "[\\x00-\\x7f]{0,2}") {
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..=at, new.chars());
        agrees(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn any_text_is_judged_alike(text in "[\\[\\]{}:,\"\\\\0-9a-f.eE+ntru \n-]{0,24}") {
        agrees(&text);
    }

    #[test]
    fn spans_are_what_raw_value_sees(fields in prop::collection::vec((json::string(), json::value()), 0..8)) {
        let keys: HashSet<_> = fields.iter().map(|(key, _)| decode_string(key.as_bytes())).collect();
        prop_assume!(keys.len() == fields.len());
        let text = format!("{{{}}}", fields.iter().map(|(k, v)| format!("{k} : {v} ")).collect::<Vec<_>>().join(","));
        let mut seen = Vec::new();
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.object(|scanner, key| {
            let value = scanner.value()?;
            seen.push((text[key.range()].to_owned(), text[value.range()].to_owned()));
            Ok(())
        }).unwrap();
        scanner.end().unwrap();
        let written: Vec<_> = fields.iter().map(|(k, v)| (k[1..k.len() - 1].to_owned(), v.clone())).collect();
        prop_assert_eq!(&seen, &written);
        let items = format!("[{}]", fields.iter().map(|(_, v)| v.as_str()).collect::<Vec<_>>().join(" , "));
        let theirs: Vec<&RawValue> = serde_json::from_str(&items).unwrap();
        for (theirs, (_, ours)) in theirs.iter().zip(&seen) {
            prop_assert_eq!(theirs.get(), ours);
        }
    }

    #[test]
    fn strings_survive_encoding(text in any::<String>()) {
        let encoded = encode_string(&text);
        prop_assert_eq!(decode_string(encoded.as_bytes()).unwrap(), text.as_str());
    }

    #[test]
    fn decoding_agrees_with_serde(text in json::string()) {
        if let Ok(theirs) = serde_json::from_str::<String>(&text) {
            prop_assert_eq!(decode_string(text.as_bytes()).unwrap(), theirs.as_str());
        }
    }
}
