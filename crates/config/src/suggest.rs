//! Keys that were perhaps meant.

use strsim::osa_distance;

/// The one of `known` that is closest to `key`, if it is close.
pub(crate) fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let key = plain(key);
    let allowed = (key.chars().count() / 3).max(1);
    let near = known.iter().map(|other| (osa_distance(&key, &plain(other)), *other));
    near.filter(|(distance, _)| *distance <= allowed).min().map(|(_, other)| other)
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
