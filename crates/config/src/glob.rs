//! Patterns in which `*` stands for any characters and `?` for one.

/// Whether the pattern fits the whole text.
///
/// The text may be a pattern itself: then the answer is yes only if everything that fits it fits `pattern` too, which is
/// why `?` does not stand for a `*`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when what follows the last `*` turns out not to fit: one character further.
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
