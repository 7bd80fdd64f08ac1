//! The name of a secret.

use std::{fmt, str::FromStr};

/// Longer names are mistakes, such as a secret in the place of its name.
const MAX_LENGTH: usize = 128;

/// The name of a secret, as in `${secret:NAME}`.
///
/// Letters, digits and `_ - . /`, with a letter, a digit or `_` at the beginning: such a name needs no quotes in shells and files,
/// and it cannot end a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

/// Why a text is not the name of a secret. Does not contain the text, which may be a secret in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a name of a secret: use 1 to {MAX_LENGTH} letters, digits, `_`, `-`, `.` or `/`, beginning with a letter, a digit or `_`"
)]
pub struct InvalidSecretName;

impl SecretName {
    /// What the names of secrets begin with that Toolbay keeps for itself, such as tokens of logins.
    pub const RESERVED: &'static str = "oauth/";

    /// Whether Toolbay keeps it for itself. Such a secret is not listed, and no configuration can name it.
    pub fn is_reserved(&self) -> bool {
        self.0.starts_with(Self::RESERVED)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretName {
    type Err = InvalidSecretName;

    fn from_str(text: &str) -> Result<Self, InvalidSecretName> {
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let is_valid = text.len() <= MAX_LENGTH
            && text.starts_with(is_word)
            && text.chars().all(|character| is_word(character) || matches!(character, '-' | '.' | '/'));
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidSecretName) }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes() {
        for name in ["A", "github_token", "GITHUB-TOKEN.2", "work/github", "_x", "1"] {
            assert_eq!(name.parse::<SecretName>().map(|name| name.to_string()), Ok(name.to_owned()));
        }
        let long = "x".repeat(MAX_LENGTH + 1);
        for name in ["", "-x", ".x", "/x", "a b", "a}", "a:b", "a\n", "ä", "a$b", &long] {
            assert_eq!(name.parse::<SecretName>(), Err(InvalidSecretName), "{name:?}");
        }
        assert!(long[1..].parse::<SecretName>().is_ok());
    }
}
