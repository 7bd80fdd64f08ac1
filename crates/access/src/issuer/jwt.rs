//! JSON Web Tokens in their compact form.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

use crate::{
    authenticator::Refusal,
    issuer::{claims::Claims, jwk::Algorithm},
};

/// Names of keys that are longer are of no use.
const MAX_KEY_ID: usize = 256;

/// A token that is well-formed. Nothing else of it was checked.
#[derive(Debug)]
pub(super) struct Jwt<'a> {
    algorithm: Algorithm,
    key_id: Option<String>,
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<serde_json::Value>,
}

impl<'a> Jwt<'a> {
    /// Reads a token. None if it is of another kind.
    pub(super) fn parse(token: &'a str) -> Option<Result<Self, Refusal>> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if payload.contains('.') {
            return None;
        }
        let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        Some(Self::of_parts(header, signed, payload, signature))
    }

    fn of_parts(header: Header, signed: &'a str, payload: &'a str, signature: &str) -> Result<Self, Refusal> {
        let refuse = |why: &str| Err(Refusal::InvalidToken(why.to_owned()));
        let Some(algorithm) = Algorithm::parse(&header.alg) else {
            return refuse("the token is not signed with an algorithm that is accepted");
        };
        if header.crit.is_some() {
            return refuse("the token has extensions that must be understood, and are not");
        }
        if !header.typ.as_deref().is_none_or(is_access_token) {
            return refuse("the token is not an access token");
        }
        if header.kid.as_ref().is_some_and(|id| id.len() > MAX_KEY_ID) {
            return refuse("the token is signed with an unknown key");
        }
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
            return refuse("the signature of the token is not readable");
        };
        Ok(Self { algorithm, key_id: header.kid, signed, payload, signature })
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// What the signature is of.
    pub(super) fn signed(&self) -> &[u8] {
        self.signed.as_bytes()
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// What the token says. It counts once the signature was verified.
    pub(super) fn unverified_claims(&self) -> Result<Claims, Refusal> {
        let bytes = URL_SAFE_NO_PAD.decode(self.payload).ok();
        let claims = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        claims
            .map(Claims::new)
            .ok_or_else(|| Refusal::InvalidToken("the claims of the token are not readable".to_owned()))
    }
}

/// Whether a type is that of access tokens (RFC 9068), or says nothing. Other tokens of an issuer must not be taken for one.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str) -> String {
        format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header))
    }

    #[test]
    fn only_access_tokens_with_accepted_algorithms_are_read() {
        for good in [
            r#"{"alg":"RS256"}"#,
            r#"{"alg":"ES256","typ":"JWT"}"#,
            r#"{"alg":"EdDSA","typ":"at+jwt","kid":"1"}"#,
            r#"{"alg":"PS512","typ":"application/AT+JWT"}"#,
        ] {
            assert!(matches!(Jwt::parse(&token(good)), Some(Ok(_))), "{good}");
        }
        for bad in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"ES256","typ":"oauth-id-jag+jwt"}"#,
            r#"{"alg":"ES256","typ":"dpop+jwt"}"#,
            r#"{"alg":"ES256","crit":["b64"],"b64":false}"#,
        ] {
            assert!(matches!(Jwt::parse(&token(bad)), Some(Err(Refusal::InvalidToken(_)))), "{bad}");
        }
    }

    #[test]
    fn other_tokens_are_not_ours() {
        for text in [
            "",
            ".",
            "..",
            "opaque",
            "a.b",
            "a.b.c.d.e",
            "tb_0123.x.y",
            &token(r#"{"alg":"ES256","alg":"none"}"#),
        ] {
            assert!(Jwt::parse(text).is_none(), "{text}");
        }
    }
}
