//! Keys that sign JSON Web Tokens.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rustls_pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};

use crate::{credential::Credential, error::OAuthError};

/// A private key: EC P-256, Ed25519 or RSA.
pub struct SigningKey {
    pair: Pair,
    random: SystemRandom,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Reads a key that was written as PEM in PKCS #8 (`BEGIN PRIVATE KEY`).
    ///
    /// # Errors
    /// If the text is no such key.
    pub fn from_pem(pem: &Credential) -> Result<Self, OAuthError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.expose().as_bytes())
            .map_err(|_| OAuthError::Key("it is no PKCS #8 PEM text"))?;
        Self::from_pkcs8(key.secret_pkcs8_der())
    }

    /// Makes a new EC key; the second value is what it can be read from again.
    pub(crate) fn generate() -> Result<(Self, Credential), OAuthError> {
        let failed = |_| OAuthError::Key("the system has no random numbers");
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .map_err(failed)?;
        let key = Self::from_pkcs8(document.as_ref())?;
        Ok((key, Credential::new(URL_SAFE_NO_PAD.encode(document.as_ref()))))
    }

    /// Reads a key that [`SigningKey::generate`] made.
    pub(crate) fn from_saved(saved: &Credential) -> Result<Self, OAuthError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(saved.expose())
            .map_err(|_| OAuthError::Key("the saved key is damaged"))?;
        Self::from_pkcs8(&bytes)
    }

    fn from_pkcs8(key: &[u8]) -> Result<Self, OAuthError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key, &random)
            .map(Pair::P256)
            .or_else(|_| Ed25519KeyPair::from_pkcs8_maybe_unchecked(key).map(Pair::Ed25519))
            .or_else(|_| RsaKeyPair::from_pkcs8(key).map(Pair::Rsa));
        match pair {
            Ok(pair) => Ok(Self { pair, random }),
            Err(_) => Err(OAuthError::Key("its algorithm is not supported, or it is damaged")),
        }
    }

    /// Signs claims. `header` is completed with the algorithm.
    pub(crate) fn sign(&self, mut header: Value, claims: &Value) -> Result<String, OAuthError> {
        header["alg"] = self.algorithm().into();
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.signature(text.as_bytes())?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn algorithm(&self) -> &'static str {
        match &self.pair {
            Pair::P256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rsa(_) => "RS256",
        }
    }

    fn signature(&self, text: &[u8]) -> Result<Vec<u8>, OAuthError> {
        let failed = |_| OAuthError::Key("it cannot sign");
        match &self.pair {
            Pair::P256(pair) => Ok(pair.sign(&self.random, text).map_err(failed)?.as_ref().to_vec()),
            Pair::Ed25519(pair) => Ok(pair.sign(text).as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; rsa::PublicKey::modulus_len(pair.public_key())];
                pair.sign(&RSA_PKCS1_SHA256, &self.random, text, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }

    /// The public key of an EC key as a JSON Web Key.
    pub(crate) fn public_jwk(&self) -> Result<Value, OAuthError> {
        let Pair::P256(pair) = &self.pair else { return Err(OAuthError::Key("proofs need an EC key")) };
        // An uncompressed point: 4, then both coordinates.
        let point = pair.public_key().as_ref();
        let coordinate = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        Ok(
            json!({ "kty": "EC", "crv": "P-256", "x": coordinate(&point[1..33]), "y": coordinate(&point[33..65]) }),
        )
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.algorithm())
    }
}
