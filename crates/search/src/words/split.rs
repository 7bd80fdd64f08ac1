//! Identifiers taken apart at case, underscore and digit borders.

/// Longer words are cut here: they are not searched for, and encoded data is full of them.
const LONGEST: usize = 64;

/// What [`each`] has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordPiece {
    /// A word: `read`, `file`, `8`.
    Part,
    /// An identifier of more than one word, written as one: `readfile` for both `readFile` and `READ_FILE`.
    Whole,
}

/// Gives every word of a text in lower case, in order.
///
/// `parseHTTPHeader2` gives `parse`, `http`, `header`, `2`. Allocates a buffer per call, nothing per word.
pub fn split(text: &str, mut found: impl FnMut(&str)) {
    walk(text, |word, piece| {
        if piece == WordPiece::Part {
            found(word);
        }
        false
    });
}

/// Like [`split`], and after the parts of an identifier of several words gives all of it.
pub fn each(text: &str, mut found: impl FnMut(&str, WordPiece)) {
    walk(text, |word, piece| {
        found(word, piece);
        true
    });
}

/// What a byte is to the splitter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Lower,
    Upper,
    Digit,
    Underscore,
    Foreign,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            0x80.. => Class::Foreign,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

fn class(byte: u8) -> Class {
    CLASSES[byte as usize]
}

/// `found` returns whether it wants whole identifiers.
fn walk(text: &str, mut found: impl FnMut(&str, WordPiece) -> bool) {
    let bytes = text.as_bytes();
    let mut buffer = String::with_capacity(LONGEST);
    let mut at = 0;
    while at < bytes.len() {
        if class(bytes[at]) == Class::Other {
            at += 1;
            continue;
        }
        let start = at;
        let mut ascii = true;
        while at < bytes.len() {
            match class(bytes[at]) {
                Class::Other => break,
                Class::Foreign => ascii = false,
                _ => {}
            }
            at += 1;
        }
        if ascii {
            identifier(&text[start..at], &mut buffer, &mut found);
        } else {
            foreign(&text[start..at], &mut found);
        }
    }
}

/// One run of ASCII letters, digits and underscores.
fn identifier(run: &str, buffer: &mut String, found: &mut impl FnMut(&str, WordPiece) -> bool) {
    let bytes = run.as_bytes();
    let mut parts = 0;
    let mut whole = false;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'_' {
            at += 1;
            continue;
        }
        let (end, capitals) = part_end(bytes, at);
        let word = &run[at..end.min(at + LONGEST)];
        whole = if capitals {
            buffer.clear();
            buffer.push_str(word);
            buffer.make_ascii_lowercase();
            found(buffer, WordPiece::Part)
        } else {
            found(word, WordPiece::Part)
        };
        parts += 1;
        at = end;
    }
    if whole && parts > 1 {
        buffer.clear();
        buffer.extend(
            run.bytes().filter(|byte| *byte != b'_').take(LONGEST).map(|b| b.to_ascii_lowercase() as char),
        );
        found(buffer, WordPiece::Whole);
    }
}

/// Where the part that begins at `start` ends, and whether it has capitals.
fn part_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let run = |from: usize, wanted: Class| {
        from + bytes[from..].iter().take_while(|byte| class(**byte) == wanted).count()
    };
    match class(bytes[start]) {
        Class::Digit => (run(start, Class::Digit), false),
        Class::Lower => (run(start, Class::Lower), false),
        _ => {
            let capitals = run(start, Class::Upper);
            let lower = run(capitals, Class::Lower);
            let plural = lower == capitals + 1 && bytes[capitals] == b's';
            match capitals - start {
                // `Header`.
                1 => (lower, true),
                // `HTTP_` and `HTTP2`, and `URLs`.
                _ if lower == capitals || plural => (lower, true),
                // `HTTPHeader`: the last capital begins the next part.
                _ => (capitals - 1, true),
            }
        }
    }
}

/// A run with letters beyond ASCII: split by the case that Unicode knows.
fn foreign(run: &str, found: &mut impl FnMut(&str, WordPiece) -> bool) {
    let mut word = String::with_capacity(LONGEST);
    let mut before_lower = false;
    for letter in run.chars() {
        let upper = letter.is_uppercase();
        if !letter.is_alphanumeric() || (upper && before_lower) {
            give(&mut word, found);
        }
        before_lower = letter.is_lowercase();
        if letter.is_alphanumeric() && word.len() < LONGEST {
            word.extend(letter.to_lowercase());
        }
    }
    give(&mut word, found);
}

fn give(word: &mut String, found: &mut impl FnMut(&str, WordPiece) -> bool) {
    if !word.is_empty() {
        found(word, WordPiece::Part);
        word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        split(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn identifiers_are_split_at_case_underscore_and_digits() {
        assert_eq!(parts("parseHTTPHeader2"), ["parse", "http", "header", "2"]);
        assert_eq!(parts("__READ_FILE__(x1)"), ["read", "file", "x", "1"]);
        assert_eq!(
            parts("self.URLs, IOError; kebab-case $var"),
            ["self", "urls", "io", "error", "kebab", "case", "var"]
        );
        assert_eq!(parts("Aa"), ["aa"]);
        assert_eq!(parts(""), Vec::<String>::new());
    }

    #[test]
    fn letters_beyond_ascii_are_letters() {
        assert_eq!(parts("größeÄndern naïve_Café — 漢字"), ["größe", "ändern", "naïve", "café", "漢字"]);
    }

    #[test]
    fn a_whole_identifier_follows_its_parts() {
        let mut found = Vec::new();
        each("readFile READ_FILE file", |word, piece| found.push((word.to_owned(), piece)));
        let whole: Vec<&str> = found
            .iter()
            .filter(|(_, piece)| *piece == WordPiece::Whole)
            .map(|(word, _)| word.as_str())
            .collect();
        assert_eq!(whole, ["readfile", "readfile"]);
        assert_eq!(found.len(), 7);
    }

    #[test]
    fn endless_words_are_cut() {
        let words = parts(&"a".repeat(10_000));
        assert_eq!(words, ["a".repeat(LONGEST)]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_words_in_lower_case(text in "\\PC{0,200}") {
            each(&text, |word, _| {
                assert!(!word.is_empty() && word.len() <= LONGEST + 12);
                assert!(!word.chars().any(|letter| letter.is_ascii_uppercase() || letter == '_'));
            });
        }
    }
}
