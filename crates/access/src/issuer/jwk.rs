//! Public keys of issuers, and what they verify.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

/// Keys that are looked at in one document.
const MAX_KEYS: usize = 64;

/// An algorithm that issuers may sign with. `none` and those with a shared key are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
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

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    fn of_rsa(self) -> Option<&'static RsaParameters> {
        Some(match self {
            Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &RSA_PKCS1_2048_8192_SHA512,
            Self::Ps256 => &RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &RSA_PSS_2048_8192_SHA512,
            Self::Es256 | Self::Es384 | Self::EdDsa => return None,
        })
    }
}

/// A public key with which an issuer signs.
pub(super) struct VerificationKey {
    id: Option<String>,
    /// The only algorithm that it is for, if it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

/// A JSON Web Key, as much of it as we need. Fields are named as in RFC 7517.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// Reads a JSON Web Key Set. Keys of other types, or for other uses, are left out.
pub(super) fn parse_key_set(text: &[u8]) -> Result<Vec<VerificationKey>, String> {
    let document: Document =
        serde_json::from_slice(text).map_err(|error| format!("no JSON Web Key Set: {error}"))?;
    let keys = document.keys.into_iter().take(MAX_KEYS);
    let keys = keys.filter_map(|key| serde_json::from_value(key).ok().and_then(VerificationKey::new));
    let keys: Vec<_> = keys.collect();
    if keys.is_empty() { Err("no key that signatures can be verified with".to_owned()) } else { Ok(keys) }
}

impl VerificationKey {
    fn new(jwk: Jwk) -> Option<Self> {
        let is_for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
            && jwk.key_ops.as_ref().is_none_or(|all| all.iter().any(|operation| operation == "verify"));
        if !is_for_signatures {
            return None;
        }
        let algorithm = match jwk.alg.as_deref() {
            Some(name) => Some(Algorithm::parse(name)?),
            None => None,
        };
        let bytes = |text: Option<&String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let point = |length| {
            let (x, y) = (bytes(jwk.x.as_ref())?, bytes(jwk.y.as_ref())?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: bytes(jwk.n.as_ref())?, e: bytes(jwk.e.as_ref())? },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(jwk.x.as_ref())?),
            _ => return None,
        };
        Some(Self { id: jwk.kid, algorithm, material })
    }

    /// Whether a token that names this key and algorithm may have been signed with it.
    pub(super) fn matches(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        let is_named = id.is_none_or(|id| self.id.as_deref() == Some(id));
        is_named && self.algorithm.is_none_or(|own| own == algorithm) && self.fits(algorithm)
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        match &self.material {
            Material::Rsa { .. } => algorithm.of_rsa().is_some(),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }

    /// Whether a signature is that of this key.
    pub(super) fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        let with = |verifier: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(verifier, key).verify(signed, signature).is_ok()
        };
        match (&self.material, algorithm) {
            (Material::Rsa { n, e }, algorithm) => algorithm.of_rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n, e }.verify(parameters, signed, signature).is_ok()
            }),
            (Material::P256(key), Algorithm::Es256) => with(&ECDSA_P256_SHA256_FIXED, key),
            (Material::P384(key), Algorithm::Es384) => with(&ECDSA_P384_SHA384_FIXED, key),
            (Material::Ed25519(key), Algorithm::EdDsa) => with(&ED25519, key),
            _ => false,
        }
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerificationKey({:?})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of RFC 8037, appendix A: its key, what was signed, and the signature.
    const KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const SIGNED: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    const SIGNATURE: &str =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

    #[test]
    fn the_example_of_the_standard_is_verified() {
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": KEY, "kid": "1"}]});
        let keys = parse_key_set(set.to_string().as_bytes()).unwrap();
        let mut signature = URL_SAFE_NO_PAD.decode(SIGNATURE).unwrap();
        assert!(keys[0].matches(Some("1"), Algorithm::EdDsa) && keys[0].matches(None, Algorithm::EdDsa));
        assert!(keys[0].verify(Algorithm::EdDsa, SIGNED.as_bytes(), &signature));
        signature[0] ^= 1;
        assert!(!keys[0].verify(Algorithm::EdDsa, SIGNED.as_bytes(), &signature));
    }

    #[test]
    fn keys_for_other_uses_and_of_other_types_are_left_out() {
        let good = json!({"kty": "OKP", "crv": "Ed25519", "x": KEY});
        let with = |name: &str, value: serde_json::Value| {
            let mut key = good.clone();
            key[name] = value;
            key
        };
        for bad in [
            with("use", json!("enc")),
            with("key_ops", json!(["sign"])),
            with("alg", json!("HS256")),
            with("kty", json!("oct")),
            with("crv", json!("Ed448")),
            with("x", json!("not base64!")),
            json!("text"),
        ] {
            let set = json!({"keys": [bad.clone()]}).to_string();
            assert!(parse_key_set(set.as_bytes()).is_err(), "{bad}");
            let set = json!({"keys": [bad, good]}).to_string();
            assert_eq!(parse_key_set(set.as_bytes()).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_key_verifies_only_what_it_is_for() {
        let set = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": KEY, "alg": "EdDSA", "kid": "1"}]});
        let keys = parse_key_set(set.to_string().as_bytes()).unwrap();
        assert!(
            !keys[0].matches(Some("2"), Algorithm::EdDsa) && !keys[0].matches(Some("1"), Algorithm::Es256)
        );
        for name in ["none", "None", "HS256", "HS512", "ES512", "RS1", ""] {
            assert_eq!(Algorithm::parse(name), None, "{name}");
        }
    }
}
