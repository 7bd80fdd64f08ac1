//! What clients on HTTP must show, if anything.

use http::{HeaderMap, header};
use sha2::{Digest, Sha256};

use crate::headers::{single, words};

/// A secret that every request must carry (`Authorization: Bearer …`). Only its hash is kept.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// A token, unless it is empty or has characters that a header cannot carry.
    pub fn new(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(Sha256::digest(text).into()))
    }

    /// Whether a request carries it: as a bearer token, or for a WebSocket, to which pages in a browser cannot give
    /// headers, as the subprotocol `bearer.<token>`.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        match single(headers, &header::AUTHORIZATION) {
            Ok(Some(value)) => value.split_once(' ').is_some_and(|(scheme, given)| {
                scheme.eq_ignore_ascii_case("bearer") && self.is(given.trim())
            }),
            Ok(None) => words(headers, &header::SEC_WEBSOCKET_PROTOCOL)
                .filter_map(|word| word.strip_prefix("bearer."))
                .any(|given| self.is(given)),
            Err(_) => false,
        }
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
