//! A line that was found, with the matches in it.

use std::ops::Range;

use crate::term::{
    style::{Palette, clean},
    text::{head, tail, width},
};

/// A part of a line: a match, or what stands between two.
struct LinePart {
    text: String,
    is_match: bool,
}

/// A line with its matches highlighted. Of one that is wider than `room`, the part around the first match is shown.
pub(super) fn shown(line: &str, matches: &[Range<usize>], room: Option<usize>, paint: Palette) -> String {
    let parts = parts(line, matches);
    let whole: usize = parts.iter().map(|part| width(&part.text)).sum();
    let parts = match room {
        Some(room) if whole > room => around_match(parts, room),
        _ => parts,
    };
    let painted = |part: &LinePart| if part.is_match { paint.found(&part.text) } else { part.text.clone() };
    parts.iter().map(painted).collect()
}

/// A line in parts, safe for a terminal; matches that do not fit the text are left out.
fn parts(line: &str, matches: &[Range<usize>]) -> Vec<LinePart> {
    let part = |text: &str, is_match| LinePart { text: clean(text).replace('\t', "    "), is_match };
    let (mut parts, mut end) = (Vec::new(), 0);
    for found in matches {
        if let (Some(before), Some(text)) = (line.get(end..found.start), line.get(found.clone())) {
            parts.push(part(before, false));
            parts.push(part(text, true));
            end = found.end;
        }
    }
    parts.push(part(&line[end..], false));
    parts
}

/// As much as fits: some of what is before the first match, the match, and what follows.
fn around_match(parts: Vec<LinePart>, room: usize) -> Vec<LinePart> {
    let mark = || LinePart { text: "…".to_owned(), is_match: false };
    let first = parts.iter().find(|part| part.is_match).map_or(0, |part| width(&part.text));
    let (mut shown, mut left) = (Vec::new(), room);
    for (index, part) in parts.into_iter().enumerate() {
        // Before the match there is as much as leaves room for it, and at least a quarter for what follows.
        let most = room.saturating_sub(first + room / 4);
        if index == 0 && !part.is_match && width(&part.text) > most {
            let text = tail(&part.text, most.saturating_sub(1)).to_owned();
            left = left.saturating_sub(width(&text) + 1);
            shown.extend([mark(), LinePart { text, ..part }]);
        } else if width(&part.text) <= left {
            left -= width(&part.text);
            shown.push(part);
        } else {
            shown.push(LinePart { text: head(&part.text, left.saturating_sub(1)).to_owned(), ..part });
            shown.extend((left > 0).then(mark));
            break;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_highlighted_and_stay_in_sight() {
        let plain = |line: &str, matches: &[Range<usize>], room| shown(line, matches, room, Palette(false));
        assert_eq!(
            shown("let total = 1;", &[Range { start: 4, end: 9 }], None, Palette(true)),
            "let \u{1b}[1m\u{1b}[31mtotal\u{1b}[0m = 1;"
        );
        assert_eq!(plain("a\tb", &[], None), "a    b");
        let long = format!("{}needle{}", "x".repeat(100), "y".repeat(100));
        for room in [10, 20, 40, 80] {
            let line = plain(&long, &[Range { start: 100, end: 106 }], Some(room));
            assert!(
                line.contains("needle") && line.starts_with('…') && line.ends_with('…'),
                "{room}: {line}"
            );
            assert!(width(&line) <= room, "{room}: {line}");
        }
        assert_eq!(plain("short needle", &[Range { start: 6, end: 12 }], Some(40)), "short needle");
        assert_eq!(plain("ä", &[1..2, 0..9], Some(10)), "ä");
    }
}
