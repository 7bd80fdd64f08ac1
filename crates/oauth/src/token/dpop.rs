//! Proofs of possession (RFC 9449): a token that is bound to a key is of no use to those who copied it.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;

use crate::{
    credential::Credential,
    error::OAuthError,
    http_client::without_query,
    token::{SigningKey, unix_time},
};

pub(crate) const PROOF: HeaderName = HeaderName::from_static("dpop");
const NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// How many origins may have given a nonce; there are two, the server and its authorization server.
const MAX_NONCES: usize = 8;
const MAX_NONCE: usize = 1024;

/// The key that tokens are bound to, and the nonces that servers want to see in the next proof.
#[derive(Debug)]
pub(crate) struct ProofKey {
    key: SigningKey,
    saved: Credential,
    nonces: Mutex<BTreeMap<String, String>>,
}

impl ProofKey {
    pub(crate) fn generate() -> Result<Self, OAuthError> {
        let (key, saved) = SigningKey::generate()?;
        Ok(Self { key, saved, nonces: Mutex::default() })
    }

    pub(crate) fn from_saved(saved: &Credential) -> Result<Self, OAuthError> {
        Ok(Self { key: SigningKey::from_saved(saved)?, saved: saved.clone(), nonces: Mutex::default() })
    }

    /// What the key can be read from again.
    pub(crate) fn saved(&self) -> &Credential {
        &self.saved
    }

    /// A new proof for one request; with the token that it carries, if there is one.
    pub(crate) fn proof(
        &self,
        method: &Method,
        url: &str,
        token: Option<&Credential>,
    ) -> Result<HeaderValue, OAuthError> {
        let mut claims = json!({
            "jti": Credential::random()?.expose(),
            "htm": method.as_str(),
            "htu": without_query(url),
            "iat": unix_time(),
        });
        if let Some(token) = token {
            claims["ath"] = URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose())).into();
        }
        if let Some(nonce) = self.nonces.lock().get(&origin(url)) {
            claims["nonce"] = nonce.as_str().into();
        }
        let proof = self.key.sign(json!({ "typ": "dpop+jwt", "jwk": self.key.public_jwk()? }), &claims)?;
        let mut header =
            HeaderValue::from_str(&proof).map_err(|_| OAuthError::Key("its proof is no header"))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Remembers the nonce of a response for the next proof. Returns whether there was one.
    pub(crate) fn remember_nonce(&self, url: &str, headers: &HeaderMap) -> bool {
        let nonce = headers.get(NONCE).and_then(|nonce| nonce.to_str().ok());
        let Some(nonce) = nonce.filter(|nonce| !nonce.is_empty() && nonce.len() <= MAX_NONCE) else {
            return false;
        };
        let mut nonces = self.nonces.lock();
        let origin = origin(url);
        if nonces.len() >= MAX_NONCES && !nonces.contains_key(&origin) {
            nonces.clear();
        }
        nonces.insert(origin, nonce.to_owned());
        true
    }
}

fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}
