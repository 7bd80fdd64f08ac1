//! Text of others, made safe to show.

/// The text with everything that would move the cursor, hide, look like something else, or turn the reading direction
/// written as an escape, so that users see what they approve.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The text as [`visible`] shows it, in quotes where one would not see else where it begins or ends.
pub(crate) fn quoted(text: &str) -> String {
    let needs_quotes = |c: char| c == ' ' || c == '"' || c == '\\' || is_invisible(c);
    if !text.is_empty() && !text.contains(needs_quotes) {
        return text.to_owned();
    }
    let mut shown = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            c => shown.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
        }
    }
    shown.push('"');
    shown
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            // Tags, more variation selectors, and private-use characters.
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_cannot_be_seen_stays_unseen() {
        for (text, expected) in [
            ("plain-ä漢😀", "plain-ä漢😀"),
            ("/usr/bin/true\u{3164}", "\"/usr/bin/true\\u{3164}\""),
            ("y\u{34f}", "\"y\\u{34f}\""),
            ("trailing   ", "\"trailing   \""),
            ("", "\"\""),
            (
                "a\u{2800}b\u{a0}c\u{fe0f}\u{2003}\u{3000}",
                "\"a\\u{2800}b\\u{a0}c\\u{fe0f}\\u{2003}\\u{3000}\"",
            ),
            (
                "\u{115f}\u{17b4}\u{180b}\u{ffa0}\u{e0100}\u{e01ef}\u{f0001}",
                "\"\\u{115f}\\u{17b4}\\u{180b}\\u{ffa0}\\u{e0100}\\u{e01ef}\\u{f0001}\"",
            ),
            ("a\nb\t\u{1b}[2K\u{202e}", "\"a\\nb\\t\\u{1b}[2K\\u{202e}\""),
            ("\\u{202e}", "\"\\\\u{202e}\""),
            ("say \"x\"", "\"say \\\"x\\\"\""),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
    }
}
