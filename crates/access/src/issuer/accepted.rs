//! Tokens that were accepted lately.

use std::{
    collections::HashMap,
    mem,
    sync::Arc,
    time::{Instant, SystemTime},
};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::authenticator::Access;

/// How many tokens are remembered, at most twice.
const CAPACITY: usize = 4096;

/// The hash of a token, which is all that is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(super) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

/// Tokens that were accepted lately, and what they give.
///
/// There are two generations. When the younger one is full it becomes the older one, whose tokens are forgotten unless they were
/// used meanwhile. So memory is bounded, and tokens in use stay.
#[derive(Debug, Default)]
pub(super) struct AcceptedTokens {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<TokenHash, Accepted>,
    old: HashMap<TokenHash, Accepted>,
}

#[derive(Debug, Clone)]
struct Accepted {
    access: Arc<Access>,
    /// When the token must be verified again.
    until: Instant,
}

impl AcceptedTokens {
    /// What a token gives, if it need not be verified again.
    pub(super) fn get(&self, hash: &TokenHash) -> Option<Arc<Access>> {
        let mut generations = self.generations.lock();
        let found = match generations.young.get(hash) {
            Some(found) => found.clone(),
            None => {
                let found = generations.old.remove(hash)?;
                generations.insert(*hash, found.clone());
                found
            }
        };
        drop(generations);
        let is_expired = found.access.expires.is_some_and(|expires| expires <= SystemTime::now());
        let is_valid = !is_expired && found.until > Instant::now() && !found.access.revoked.is_cancelled();
        is_valid.then_some(found.access)
    }

    /// Remembers a token. If it gives the same as before, streams that it opened keep their access.
    pub(super) fn insert(&self, hash: TokenHash, access: Access, until: Instant) -> Arc<Access> {
        let mut generations = self.generations.lock();
        let before = generations.young.get(&hash).or_else(|| generations.old.get(&hash));
        let access = match before {
            Some(before) if is_same(&before.access, &access) => before.access.clone(),
            _ => Arc::new(access),
        };
        generations.insert(hash, Accepted { access: access.clone(), until });
        access
    }

    /// Ends what a token opened, which is not valid any more.
    pub(super) fn revoke(&self, hash: &TokenHash) {
        let mut generations = self.generations.lock();
        let found = generations.young.remove(hash).or_else(|| generations.old.remove(hash));
        drop(generations);
        if let Some(found) = found {
            found.access.revoked.cancel();
        }
    }
}

impl Generations {
    fn insert(&mut self, hash: TokenHash, accepted: Accepted) {
        if self.young.len() >= CAPACITY && !self.young.contains_key(&hash) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(hash, accepted);
    }
}

fn is_same(before: &Access, now: &Access) -> bool {
    before.principal == now.principal
        && before.rights == now.rights
        && before.expires == now.expires
        && !before.revoked.is_cancelled()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{Principal, Rights};

    fn access(subject: &str) -> Access {
        Access {
            principal: Principal::user("https://i", subject),
            rights: Rights::default(),
            expires: None,
            revoked: CancellationToken::new(),
        }
    }

    #[test]
    fn memory_is_bounded_and_tokens_in_use_stay() {
        let tokens = AcceptedTokens::default();
        let until = Instant::now() + Duration::from_secs(60);
        let used = TokenHash::of("used");
        tokens.insert(used, access("used"), until);
        for index in 0..5 * CAPACITY {
            tokens.insert(TokenHash::of(&index.to_string()), access("other"), until);
            assert!(tokens.get(&used).is_some(), "after {index} others");
        }
        let generations = tokens.generations.lock();
        assert!(generations.young.len() <= CAPACITY && generations.old.len() <= CAPACITY);
    }

    #[test]
    fn a_token_that_is_verified_again_keeps_its_access_unless_its_rights_changed() {
        let tokens = AcceptedTokens::default();
        let until = Instant::now() + Duration::from_secs(60);
        let hash = TokenHash::of("a");
        let first = tokens.insert(hash, access("a"), until);
        assert!(Arc::ptr_eq(&first, &tokens.insert(hash, access("a"), until)));
        assert!(!Arc::ptr_eq(&first, &tokens.insert(hash, access("b"), until)));
        tokens.revoke(&hash);
        assert!(tokens.get(&hash).is_none());
    }

    #[test]
    fn what_must_be_verified_again_is_not_known() {
        let tokens = AcceptedTokens::default();
        let hash = TokenHash::of("a");
        tokens.insert(hash, access("a"), Instant::now());
        assert!(tokens.get(&hash).is_none());
        let expired = Access { expires: Some(SystemTime::now()), ..access("a") };
        tokens.insert(hash, expired, Instant::now() + Duration::from_secs(60));
        assert!(tokens.get(&hash).is_none());
    }
}
