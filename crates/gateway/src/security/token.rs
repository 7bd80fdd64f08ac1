//! What clients on HTTP must show, if anything.

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use crate::listener::headers::{single, words};

/// A secret that every request must carry (`Authorization: Bearer …`). Only its hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// It has blanks, or other characters that a header cannot carry, or there is nothing.
    #[error("a token must consist of visible ASCII characters")]
    Unsendable,
    /// It could be guessed.
    #[error("a token must have at least {} characters", Token::MIN_LENGTH)]
    TooShort,
}

/// What a request shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresentedToken {
    /// The token.
    Token,
    /// Something that is not the token.
    WrongToken,
    Nothing,
}

impl Token {
    /// Fewer characters could be guessed.
    pub const MIN_LENGTH: usize = 16;

    /// A token, if a header can carry the text and nobody can guess it.
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
        Ok(Self(Sha256::digest(text).into()))
    }

    /// What a request shows: as a bearer token, or for a WebSocket, to which pages in a browser cannot give headers, as the
    /// subprotocol `bearer.<token>`.
    pub(crate) fn shown(&self, headers: &HeaderMap) -> PresentedToken {
        let is_right = match single(headers, &header::AUTHORIZATION) {
            Ok(Some(value)) => value.split_once(' ').is_some_and(|(scheme, given)| {
                scheme.eq_ignore_ascii_case("bearer") && self.is(given.trim())
            }),
            Ok(None) => {
                let mut given = words(headers, &header::SEC_WEBSOCKET_PROTOCOL)
                    .filter_map(|word| word.strip_prefix("bearer."))
                    .peekable();
                if given.peek().is_none() {
                    return PresentedToken::Nothing;
                }
                given.any(|given| self.is(given))
            }
            Err(_) => false,
        };
        if is_right { PresentedToken::Token } else { PresentedToken::WrongToken }
    }

    /// Takes the same time for every guess, right or wrong.
    fn is(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        let differing =
            self.0.iter().zip(given).fold(0, |differing, (ours, theirs)| differing | (ours ^ theirs));
        std::hint::black_box(differing) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_guessed_or_cannot_be_sent_is_no_token() {
        assert_eq!(Token::new("0123456789abcde").unwrap_err(), InvalidToken::TooShort);
        assert!(Token::new("0123456789abcdef").is_ok());
        for text in ["", "0123456789 abcdef", "0123456789abcdéf", "0123456789abcdef\n"] {
            assert_eq!(Token::new(text).unwrap_err(), InvalidToken::Unsendable, "{text:?}");
        }
    }
}
