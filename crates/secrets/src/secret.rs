//! The value of a secret.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

/// A secret: a text that is not printed, and that is overwritten when it is dropped.
///
/// There is no `Display` and no `Serialize`, so that code that would print or send one by accident does not compile. [`expose`]
/// is where it leaves this type.
///
/// [`expose`]: Self::expose
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

/// Why a text cannot be a secret. Does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// More than [`Secret::MAX_LENGTH`].
    #[error("it has more than {} KiB", Secret::MAX_LENGTH / 1024)]
    TooLong,
    /// Neither an environment variable nor a header can contain it.
    #[error("it is not a text: it is not UTF-8, or it contains a NUL character")]
    NotText,
}

impl Secret {
    /// The most bytes of a secret.
    pub const MAX_LENGTH: usize = 64 * 1024;

    /// A secret, which is taken as it is.
    ///
    /// # Errors
    /// If it is empty, too long, or contains a NUL character.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidSecret> {
        let text = Zeroizing::new(text.into());
        if text.is_empty() {
            Err(InvalidSecret::Empty)
        } else if text.len() > Self::MAX_LENGTH {
            Err(InvalidSecret::TooLong)
        } else if text.contains('\0') {
            Err(InvalidSecret::NotText)
        } else {
            Ok(Self(text))
        }
    }

    /// A secret of bytes that are read from somewhere.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if they are not UTF-8.
    pub fn from_bytes(mut bytes: Zeroizing<Vec<u8>>) -> Result<Self, InvalidSecret> {
        // The allocation moves, so there is nothing to overwrite but in the case of an error.
        match String::from_utf8(std::mem::take(&mut *bytes)) {
            Ok(text) => Self::new(text),
            Err(error) => {
                error.into_bytes().zeroize();
                Err(InvalidSecret::NotText)
            }
        }
    }

    /// The text of the secret, for where it is used.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_text_that_is_not_printed() {
        let secret = Secret::new("s3cret\n").unwrap();
        assert_eq!(secret.expose(), "s3cret\n");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(redacted) Some(Secret(redacted))");
    }

    #[test]
    fn what_no_variable_can_hold_is_refused() {
        let bytes = |bytes: &[u8]| Secret::from_bytes(Zeroizing::new(bytes.to_vec())).unwrap_err();
        assert_eq!(bytes(b""), InvalidSecret::Empty);
        assert_eq!(bytes(b"a\0b"), InvalidSecret::NotText);
        assert_eq!(bytes(b"\xff"), InvalidSecret::NotText);
        assert_eq!(bytes(&[b'x'; Secret::MAX_LENGTH + 1]), InvalidSecret::TooLong);
        assert!(Secret::new("x".repeat(Secret::MAX_LENGTH)).is_ok());
    }
}
