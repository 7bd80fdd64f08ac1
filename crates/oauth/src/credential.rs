//! Texts that are never shown.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// A token, key, code or password. It is never printed; [`Credential::expose`] is what to search for in a review.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credential(String);

impl Credential {
    /// Takes a text that must stay secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Makes one of 32 random bytes, as text of 43 characters that needs no escape in a URL.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, NoRandomNumbers> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| NoRandomNumbers)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the text itself, to send or to store it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// The system has no random numbers, so nothing that must not be guessed can be made.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the system has no random numbers")]
pub struct NoRandomNumbers;

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}
