//! Styles for terminals, and cleaning of untrusted text.

use std::{borrow::Cow, fmt::Write};

use anstyle::{AnsiColor, Style};
use toolbay_protocol::printable::is_unsafe;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) use toolbay_protocol::printable::clean;

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette(pub(crate) bool);

impl Palette {
    pub(crate) fn green(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// A file in which something was found, as ripgrep and grep show it.
    pub(crate) fn file(self, text: &str) -> String {
        self.with(AnsiColor::Magenta.on_default(), text)
    }

    /// The style of matches, as in ripgrep and grep.
    pub(crate) fn found(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The first line of untrusted text, cleaned.
pub(crate) fn clean_line(text: &str) -> String {
    let cleaned = clean(text);
    cleaned.trim().lines().next().unwrap_or("").replace('\t', " ")
}

/// JSON that means the same, but is safe for a terminal: what [`clean`] would remove is written as `\uXXXX`.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for next in json.chars() {
        // Line breaks between tokens are white space; all other such characters can only stand in strings.
        if next == '\r' || !is_unsafe(next) {
            escaped.push(next);
            continue;
        }
        for unit in next.encode_utf16(&mut [0; 2]) {
            write!(escaped, "\\u{unit:04x}").expect("writing to memory does not fail");
        }
    }
    Cow::Owned(escaped)
}

/// `29,412`: a number that people compare.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text that takes at most `room` columns: a longer one ends with `…`, after a whole word where that does not cost much.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let fitting = head(text, room.saturating_sub(1));
    let word = fitting.trim_end().rfind(char::is_whitespace).filter(|_| !ends_word(text, fitting.len()));
    let kept = match word {
        Some(end) if width(&fitting[..end]) * 3 >= room * 2 => &fitting[..end],
        _ => fitting,
    };
    if room == 0 { String::new() } else { format!("{}…", kept.trim_end_matches([' ', ',', ';'])) }
}

/// The beginning of a text that fits into `room` columns.
pub(crate) fn head(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, next)| {
        used += next.width().unwrap_or(0);
        used > room
    });
    end.map_or(text, |(index, _)| &text[..index])
}

/// The end of a text that fits into `room` columns.
pub(crate) fn tail(text: &str, room: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, next)| {
        used += next.width().unwrap_or(0);
        used > room
    });
    start.map_or(text, |(index, next)| &text[index + next.len_utf8()..])
}

/// Whether a word of `text` ends at `index`.
fn ends_word(text: &str, index: usize) -> bool {
    text[index..].starts_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning() {
        let text = "{\"a\":\"x\u{202e}\u{e0041}\u{7f}ä\"}";
        let escaped = escape_json(text);
        assert_eq!(escaped, "{\"a\":\"x\\u202e\\udb40\\udc41\\u007fä\"}");
        let value: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(value, serde_json::from_str::<serde_json::Value>(text).unwrap());
    }

    #[test]
    fn long_text_is_cut_between_words() {
        for (text, room, expected) in [
            ("short", 10, "short"),
            ("exactly ten", 11, "exactly ten"),
            ("reads a file from disk", 14, "reads a file…"),
            ("reads a file from disk", 13, "reads a file…"),
            ("reads a verylongword", 16, "reads a verylon…"),
            ("onewordonly", 5, "onew…"),
            ("漢字漢字", 5, "漢字…"),
            ("x", 0, ""),
        ] {
            let fitted = cut(text, room);
            assert_eq!(fitted, expected, "{text:?} in {room}");
            assert!(width(&fitted) <= room);
        }
        assert_eq!((head("abcdef", 3), tail("abcdef", 3), tail("漢字", 3)), ("abc", "def", "字"));
    }
}
