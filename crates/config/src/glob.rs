//! Patterns in which `*` matches any characters and `?` matches one.

/// Whether the pattern fits the whole text.
///
/// The text may be a pattern itself: then the answer is yes only if everything that fits it fits `pattern` too, which is
/// why `?` does not match a `*`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to continue if the rest after the last `*` does not match: one character further.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some('?') if text[t] != '*' => (p, t) = (p + 1, t + 1),
            Some(c) if *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    (p, t) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolFilter;

    #[test]
    fn a_pattern_fits_whole_names() {
        for (pattern, fits, others) in [
            ("read_file", &["read_file"][..], &["read_files", "a_read_file", ""][..]),
            ("read_*", &["read_", "read_file"], &["read", "unread_x"]),
            ("*_file", &["_file", "read_file", "a_file_file"], &["_file_", "file"]),
            ("*a*b*", &["ab", "xaxbx", "aab"], &["ba", "a", "b"]),
            ("?", &["x", "ü"], &["", "xx"]),
            ("*", &["", "anything"], &[]),
            ("", &[""], &["x"]),
        ] {
            fits.iter().for_each(|name| assert!(matches(pattern, name), "{pattern} {name}"));
            others.iter().for_each(|name| assert!(!matches(pattern, name), "{pattern} {name}"));
        }
    }

    #[test]
    fn what_is_denied_is_denied_even_if_allowed() {
        let filter = |allow: Option<&[&str]>, deny: &[&str]| ToolFilter {
            allow: allow.map(|all| all.iter().map(ToString::to_string).collect()),
            deny: deny.iter().map(ToString::to_string).collect(),
        };
        assert!(filter(None, &[]).passes("x"));
        assert!(!filter(Some(&[]), &[]).passes("x"));
        assert!(filter(Some(&["read_*"]), &["*_secret"]).passes("read_file"));
        assert!(!filter(Some(&["read_*"]), &["*_secret"]).passes("read_secret"));
        assert!(!filter(Some(&["read_*"]), &[]).passes("write_file"));
    }
}
