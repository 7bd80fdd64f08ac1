//! Names that every model API accepts.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

const MAX: usize = 64;
const HASH: usize = 8;

/// A name for each of `names`, in order, all different: at most 64 of `[A-Za-z0-9_-]`, the first no digit and no dash.
pub(super) fn fitting<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    names
        .map(|name| {
            let mut fitting = if fits(name) { name.to_owned() } else { hashed(name, name) };
            let mut count = 1;
            while !taken.insert(fitting.clone()) {
                count += 1;
                fitting = hashed(name, &format!("{name} {count}"));
            }
            fitting
        })
        .collect()
}

fn fits(name: &str) -> bool {
    name.len() <= MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The head of a name, and a hash of `whole`.
fn hashed(name: &str, whole: &str) -> String {
    let mut head: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(MAX - HASH - 1)
        .collect();
    if !head.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        head.insert(0, '_');
        head.truncate(MAX - HASH - 1);
    }
    let hash = Sha256::digest(whole.as_bytes());
    let hash: String = hash.iter().take(HASH / 2).map(|byte| format!("{byte:02x}")).collect();
    format!("{head}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_stay_different() {
        let long = "x".repeat(80);
        let given = ["git__status", "a.b", "a b", "", "9lives", &long, "git__status", "git__status"];
        let made = fitting(given.into_iter());
        assert_eq!(made[0], "git__status");
        assert!(made.iter().all(|name| fits(name)), "{made:?}");
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), given.len(), "{made:?}");
        assert!(made[1].starts_with("a_b-") && made[4].starts_with("_9lives-"), "{made:?}");
        assert_eq!(made, fitting(given.into_iter()), "always the same");
    }
}
