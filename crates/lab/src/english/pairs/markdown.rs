//! Markdown and HTML as plain text.

/// The text without markup, links and addresses, its spaces single.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '[', ']', '`', '*', '#', '|', '\\', '&']) {
        plain.push_str(&rest[..at]);
        let mark = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        let skipped = match mark {
            // A tag, or less than.
            b'<' => rest.find('>').filter(|end| {
                *end < 300 && rest.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '!')
            }),
            // The address of a link.
            b']' if rest.starts_with('(') => rest.find(')').filter(|end| *end < 500),
            // `&amp;` and the like.
            b'&' => rest
                .find(';')
                .filter(|end| *end < 8 && rest[..*end].chars().all(|c| c.is_alphanumeric() || c == '#')),
            _ => None,
        };
        if let Some(end) = skipped {
            rest = &rest[end + 1..];
        }
        plain.push(' ');
    }
    plain.push_str(rest);
    let words = plain.split_whitespace().filter(|word| !word.contains("://") && !word.starts_with("www."));
    words.collect::<Vec<_>>().join(" ")
}

/// The first sentence of a plain text.
pub(super) fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(['.', '!', '?', '\n']).map(|(at, _)| at + 1).find(|end| {
        let (head, rest) = text.split_at(*end);
        head.len() > 12
            && rest.starts_with(char::is_whitespace)
            && !head.ends_with("e.g.")
            && !head.ends_with("i.e.")
    });
    end.map_or(text, |end| &text[..end]).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_goes_and_text_stays() {
        for (text, expected) in [
            ("<p>Reads <code>a</code> file.</p>", "Reads a file."),
            ("See [the docs](https://example.org/a_b) **now**", "See the docs now"),
            ("`x` < 3 &amp; y", "x 3 y"),
            ("https://example.org only", "only"),
        ] {
            assert_eq!(plain(text), expected);
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            first_sentence("Reads files, e.g. of v1.2 logs. Then more."),
            "Reads files, e.g. of v1.2 logs."
        );
        assert_eq!(first_sentence("No end"), "No end");
    }
}
