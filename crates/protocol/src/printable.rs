//! Untrusted text that is shown to people: nothing in it may control their terminal, hide, or look like something else.

use std::{borrow::Cow, error::Error, iter};

/// Makes untrusted text safe for a terminal: without escape sequences, control characters (but for line breaks and tabs)
/// and characters that cannot be seen or turn the direction of what follows.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '\u{1b}' => rest = after_escape(rest),
            '\u{9b}' => rest = after_control_sequence(rest),
            '\r' if rest.starts_with('\n') => {}
            '\r' => cleaned.push('\n'),
            next if is_unsafe(next) => {}
            next => cleaned.push(next),
        }
    }
    Cow::Owned(cleaned)
}

/// Formats an error with its causes, outermost first: `cannot read FILE: permission denied`. A cause that the text ends with already is
/// not repeated.
pub fn error_chain(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |cause| (*cause).source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| match text.ends_with(&cause) {
        true => text,
        false => format!("{text}: {cause}"),
    })
}

/// What follows an escape sequence whose first character was read.
fn after_escape(rest: &str) -> &str {
    match rest.chars().next() {
        Some('[') => after_control_sequence(&rest[1..]),
        // Strings (OSC, DCS, SOS, PM, APC) end with BEL or ST. One without an end hides nothing but its own mark.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let end = |index: usize, length: usize| &rest[index + length..];
            let bell = rest.find('\u{7}').map(|index| (index, 1));
            let terminator = rest.find("\u{1b}\\").map(|index| (index, 2));
            let c1 = rest.find('\u{9c}').map(|index| (index, 2));
            let first = [bell, terminator, c1].into_iter().flatten().min();
            first.map_or(&rest[1..], |(index, length)| end(index, length))
        }
        Some(other) if other.is_ascii_graphic() => &rest[1..],
        _ => rest,
    }
}

fn after_control_sequence(rest: &str) -> &str {
    let end = rest.find(|c: char| !matches!(c, ' '..='?')).unwrap_or(rest.len());
    match rest[end..].chars().next() {
        Some('@'..='~') => &rest[end + 1..],
        _ => &rest[end..],
    }
}

/// Whether a character acts on a terminal, cannot be seen, or turns the direction of what follows.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_is_harmless() {
        for (text, expected) in [
            ("plain ä 漢\n\tand more", "plain ä 漢\n\tand more"),
            ("a\u{1b}[2Jb", "ab"),
            ("a\u{1b}[38;5;1mred\u{1b}[0m", "ared"),
            ("\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("\u{1b}]0;never ends", "0;never ends"),
            ("\u{1b}Pdcs\u{1b}\\x\u{1b}cy", "xy"),
            ("c1 \u{9b}31mx\u{9d}y", "c1 xy"),
            ("a\u{202e}b\u{200b}c\u{e0041}d\u{feff}e\u{2066}f", "abcdef"),
            ("over\rwritten\r\nnext", "over\nwritten\nnext"),
            ("nul\0 bell\u{7} back\u{8} del\u{7f}", "nul bell back del"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}ä", "ä"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }
}
