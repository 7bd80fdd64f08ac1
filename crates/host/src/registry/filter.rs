//! Which tools of a server are offered.

use toolbay_config::ToolFilter;

/// Whether a tool is offered under a filter.
pub(crate) fn passes(filter: &ToolFilter, tool: &str) -> bool {
    let named_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
    filter.allow.as_deref().is_none_or(named_in) && !named_in(&filter.deny)
}

/// Whether a name fits a pattern in which `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where the last `*` stood, and how much of the name it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pattern.get(of) {
            Some('*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(&c) if c == '?' || c == name[at] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((stood, taken)) = star else { return false };
                star = Some((stood, taken + 1));
                (at, of) = (taken + 1, stood + 1);
            }
        }
    }
    pattern[of..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(passes(&filter(None, &[]), "x"));
        assert!(!passes(&filter(Some(&[]), &[]), "x"));
        assert!(passes(&filter(Some(&["read_*"]), &["*_secret"]), "read_file"));
        assert!(!passes(&filter(Some(&["read_*"]), &["*_secret"]), "read_secret"));
        assert!(!passes(&filter(Some(&["read_*"]), &[]), "write_file"));
    }
}
