//! A token of the hub, and its name.

use std::{fmt, str::FromStr, sync::Arc};

use sha2::{Digest, Sha256};

/// A token that was just made. This is the only time that it can be read.
pub struct NewToken(String);

/// The name of a token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenName(Arc<str>);

/// A text that cannot be the name of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of a token must consist of 1 to {} letters, digits, `.`, `-` and `_`",
    TokenName::MAX_LENGTH
)]
pub struct InvalidTokenName;

impl NewToken {
    /// What every token of a hub begins with, so that it is recognized wherever it was left by mistake.
    pub const PREFIX: &'static str = "tb_";
    /// Random bytes: far too many to guess.
    const RANDOM: usize = 20;
    /// Bytes of the checksum, which tells a real token from a similar text, also to those who do not know it.
    const CHECKSUM: usize = 4;

    /// A random token.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; Self::RANDOM];
        getrandom::fill(&mut bytes)?;
        let random = hex(&bytes);
        let checksum = checksum(&random);
        Ok(Self(format!("{}{random}{checksum}", Self::PREFIX)))
    }

    /// Whether a text has the form of a token, with the right checksum.
    pub(super) fn is_complete(text: &str) -> bool {
        let digits = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let has_length = digits.len() == 2 * (Self::RANDOM + Self::CHECKSUM) && digits.is_ascii();
        has_length && {
            let (random, sum) = digits.split_at(2 * Self::RANDOM);
            checksum(random) == sum
        }
    }

    /// The token itself, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewToken") // never the token
    }
}

fn checksum(random: &str) -> String {
    hex(&Sha256::digest(random)[..NewToken::CHECKSUM])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl TokenName {
    const MAX_LENGTH: usize = 64;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TokenName {
    type Err = InvalidTokenName;

    fn from_str(text: &str) -> Result<Self, InvalidTokenName> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if text.is_empty() || text.len() > Self::MAX_LENGTH || !text.bytes().all(is_plain) {
            return Err(InvalidTokenName);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_random_and_recognized() {
        let (one, other) = (NewToken::random().unwrap(), NewToken::random().unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert!(NewToken::is_complete(one.reveal()) && one.reveal().len() == 51);
        let mut mistyped = one.reveal().to_owned();
        let last = if mistyped.ends_with('0') { '1' } else { '0' };
        mistyped.pop();
        assert!(!NewToken::is_complete(&mistyped), "cut off");
        mistyped.push(last);
        assert!(!NewToken::is_complete(&mistyped), "mistyped");
        assert!(!NewToken::is_complete("tb_") && !NewToken::is_complete(&"ä".repeat(26)));
        assert_eq!(format!("{one:?}"), "NewToken");
    }

    #[test]
    fn names_are_plain() {
        assert_eq!("ci-2.bot_a".parse::<TokenName>().unwrap().as_str(), "ci-2.bot_a");
        for text in ["", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert_eq!(text.parse::<TokenName>(), Err(InvalidTokenName), "{text:?}");
        }
    }
}
