//! Keys that sign tokens in tests.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{
        self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair as _, RsaEncoding, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use serde_json::{Value, json};

/// What a token is signed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl TestAlgorithm {
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// Its name in headers of tokens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    fn of_rsa(self) -> Option<&'static dyn RsaEncoding> {
        Some(match self {
            Self::Rs256 => &signature::RSA_PKCS1_SHA256,
            Self::Rs384 => &signature::RSA_PKCS1_SHA384,
            Self::Rs512 => &signature::RSA_PKCS1_SHA512,
            Self::Ps256 => &signature::RSA_PSS_SHA256,
            Self::Ps384 => &signature::RSA_PSS_SHA384,
            Self::Ps512 => &signature::RSA_PSS_SHA512,
            _ => return None,
        })
    }
}

/// Made with `openssl genpkey -algorithm RSA`, because `ring` makes no such keys; it protects nothing but tests.
const RSA: &str = include_str!("rsa.pem");

/// A key that signs tokens.
pub(super) struct TestKey {
    pub(super) id: String,
    pub(super) algorithm: TestAlgorithm,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl TestKey {
    pub(super) fn new(id: String, algorithm: TestAlgorithm) -> Self {
        let random = SystemRandom::new();
        let ec = |kind| {
            let key = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("the system has random numbers");
            Pair::Ec(EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).expect("it was just made"))
        };
        let pair = match algorithm {
            TestAlgorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
            TestAlgorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
            TestAlgorithm::EdDsa => {
                let key = Ed25519KeyPair::generate_pkcs8(&random).expect("the system has random numbers");
                Pair::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("it was just made"))
            }
            _ => {
                let key = PrivatePkcs8KeyDer::from_pem_slice(RSA.as_bytes()).expect("the file is a key");
                Pair::Rsa(RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).expect("the file is an RSA key"))
            }
        };
        Self { id, algorithm, pair }
    }

    /// A token with this header and these claims.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(header), encode(claims));
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(self.signature(text.as_bytes())))
    }

    fn signature(&self, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let encoding = self.algorithm.of_rsa().expect("it is an RSA key");
                let mut signature = vec![0; rsa::PublicKey::modulus_len(pair.public_key())];
                pair.sign(encoding, &random, text, &mut signature).expect("the key signs");
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, text).expect("the key signs").as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(text).as_ref().to_vec(),
        }
    }

    /// The public key, as issuers publish it.
    pub(super) fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::Rsa(pair) => {
                let parts: rsa::PublicKeyComponents<Vec<u8>> = pair.public_key().into();
                json!({"kty": "RSA", "n": text(&parts.n), "e": text(&parts.e)})
            }
            Pair::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(pair.public_key().as_ref().len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)})
            }
            Pair::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
        };
        key["kid"] = json!(self.id);
        key["alg"] = json!(self.algorithm.name());
        key["use"] = json!("sig");
        key
    }

    /// The modulus of an RSA key, which attackers try as a shared key.
    pub(super) fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
        }
    }
}
