//! The token of `--token-file`.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use futures_util::future::{BoxFuture, ready};
use sha2::{Digest, Sha256};

use crate::{
    authenticator::{Access, Authenticator, Refusal},
    seen_tokens::SeenTokens,
};

/// One token that stands for the owner, with all rights. Only its hash is kept.
pub struct OwnerToken {
    digest: TokenDigest,
    seen: SeenTokens<()>,
}

/// The hash of a token. Tokens are random, so they cannot be guessed from a plain hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenDigest([u8; 32]);

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// It has blanks, or other characters that a header cannot carry, or there is nothing.
    #[error("a token must consist of visible ASCII characters")]
    Unsendable,
    /// It could be guessed.
    #[error("a token must have at least {} characters", OwnerToken::MIN_LENGTH)]
    TooShort,
}

impl OwnerToken {
    /// Fewer characters could be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// A token, if a header can carry the text and it is long enough.
    ///
    /// # Errors
    /// If not.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken::Unsendable);
        }
        if text.len() < Self::MIN_LENGTH {
            return Err(InvalidToken::TooShort);
        }
        Ok(Self { digest: TokenDigest::of(text), seen: SeenTokens::default() })
    }
}

impl Authenticator for OwnerToken {
    fn known(&self, token: &str) -> Option<Arc<Access>> {
        if self.seen.get(token).is_none() {
            if TokenDigest::of(token) != self.digest {
                return None;
            }
            self.seen.insert(token, ());
        }
        Some(Access::owner())
    }

    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<Result<Arc<Access>, Refusal>>> {
        Box::pin(ready(self.known(token).map(Ok)))
    }
}

impl fmt::Debug for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerToken")
    }
}

impl TokenDigest {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads what was written in hexadecimal digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>()?;
        bytes.try_into().ok().map(Self)
    }
}

impl PartialEq for TokenDigest {
    /// Takes the same time for all digests, equal or not.
    fn eq(&self, other: &Self) -> bool {
        let differing =
            self.0.iter().zip(other.0).fold(0, |differing, (ours, theirs)| differing | (ours ^ theirs));
        std::hint::black_box(differing) == 0
    }
}

impl Eq for TokenDigest {}

impl Hash for TokenDigest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_guessed_or_cannot_be_sent_is_no_token() {
        assert_eq!(OwnerToken::new("0123456789abcde").unwrap_err(), InvalidToken::TooShort);
        assert!(OwnerToken::new("0123456789abcdef").is_ok());
        for text in ["", "a b", "0123456789 abcdef", "0123456789abcdéf", "0123456789abcdef\n"] {
            assert_eq!(OwnerToken::new(text).unwrap_err(), InvalidToken::Unsendable, "{text:?}");
        }
        assert!(!format!("{:?}", OwnerToken::new("s3cret-0123456789")).contains("s3cret"));
    }

    #[tokio::test]
    async fn it_is_the_owners_and_no_other_is_known() {
        let token = OwnerToken::new("0123456789abcdef").unwrap();
        let access = token.known("0123456789abcdef").unwrap();
        assert!(access.principal.is_owner() && access.rights.is_unlimited() && !access.can_end());
        assert!(token.known("0123456789abcdef").is_some(), "also when it was seen before");
        assert!(token.known("0123456789abcdeg").is_none() && token.known("").is_none());
        assert!(token.authenticate("0123456789abcdeg").await.is_none(), "the next authenticator is asked");
    }
}
