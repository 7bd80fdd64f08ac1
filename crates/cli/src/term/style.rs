//! Colours of ours, and none of anyone else's.

use std::{borrow::Cow, fmt::Write};

use anstyle::{AnsiColor, Style};
pub(crate) use toolbay_protocol::printable::clean;
use toolbay_protocol::printable::is_unsafe;

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

    /// What was searched for, as ripgrep and grep show it.
    pub(crate) fn found(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The first line of a text of others, clean.
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
}
