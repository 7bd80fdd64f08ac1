//! Text on terminals: how wide it is, and how to make it fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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

/// As much of the beginning of a text as fits into `room` columns.
pub(crate) fn head(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, next)| {
        used += next.width().unwrap_or(0);
        used > room
    });
    end.map_or(text, |(index, _)| &text[..index])
}

/// As much of the end of a text as fits into `room` columns.
pub(crate) fn tail(text: &str, room: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, next)| {
        used += next.width().unwrap_or(0);
        used > room
    });
    start.map_or(text, |(index, next)| &text[index + next.len_utf8()..])
}

/// Whether a word of `text` ends right before `index`.
fn ends_word(text: &str, index: usize) -> bool {
    text[index..].starts_with(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

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
