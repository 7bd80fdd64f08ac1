//! Keys that were perhaps meant.

/// The one of `known` that is closest to `key`, if it is close.
pub(crate) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let key = plain(key);
    let allowed = (key.chars().count() / 3).max(1);
    let near = known.iter().map(|other| (distance(&key, &plain(other)), *other));
    near.filter(|(distance, _)| *distance <= allowed).min().map(|(_, other)| other)
}

/// How many characters must be added, removed or exchanged.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in right.iter().enumerate() {
            let cost = (diagonal + usize::from(a != *b)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_keys_are_found_and_far_ones_are_not() {
        let known = ["command", "startup_timeout", "url", "env"];
        for (key, meant) in [
            ("comand", Some("command")),
            ("startupTimeout", Some("startup_timeout")),
            ("startup_timout", Some("startup_timeout")),
            ("uri", Some("url")),
            ("colour", None),
        ] {
            assert_eq!(nearest(key, &known), meant, "{key}");
        }
    }
}
