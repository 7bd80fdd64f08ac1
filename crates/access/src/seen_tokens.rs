//! Tokens that were recognized before.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
};

use parking_lot::RwLock;

/// Recognizes a token that was valid before, without computing its digest again: this is the path of every call.
///
/// A hash of 128 bits stands for a token. It is keyed with randomness that never leaves the process, so no one can make a text
/// that has the hash of a token.
pub(crate) struct SeenTokens<T> {
    keys: [RandomState; 2],
    /// Invariant: only valid tokens are here, so there are not more of them than valid tokens.
    seen: RwLock<HashMap<u64, (u64, T)>>,
}

impl<T: Clone> SeenTokens<T> {
    /// What was found out about a token, if it was seen.
    pub(crate) fn get(&self, token: &str) -> Option<T> {
        let [first, second] = self.hash(token);
        let seen = self.seen.read();
        let (other, known) = seen.get(&first)?;
        (*other == second).then(|| known.clone())
    }

    /// Remembers what was found out about a valid token.
    pub(crate) fn insert(&self, token: &str, known: T) {
        let [first, second] = self.hash(token);
        self.seen.write().insert(first, (second, known));
    }

    fn hash(&self, token: &str) -> [u64; 2] {
        self.keys.each_ref().map(|key| key.hash_one(token.as_bytes()))
    }
}

impl<T> Default for SeenTokens<T> {
    fn default() -> Self {
        // `RandomState::new` changes its keys by one each time; two hashes with such keys are still independent.
        Self { keys: [RandomState::new(), RandomState::new()], seen: RwLock::default() }
    }
}

impl<T> fmt::Debug for SeenTokens<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SeenTokens")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_is_known() {
        let seen = SeenTokens::default();
        seen.insert("one", 1);
        seen.insert("two", 2);
        assert_eq!((seen.get("one"), seen.get("two"), seen.get("three")), (Some(1), Some(2), None));
        let other: SeenTokens<i32> = SeenTokens::default();
        assert_ne!(seen.hash("one"), other.hash("one"), "no two have the same keys");
        assert_ne!(seen.hash("one")[0], seen.hash("one")[1]);
    }
}
