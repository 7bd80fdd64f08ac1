//! Encrypting the content of a file.

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::key::{FileKey, KeyDerivation};

const NONCE_LENGTH: usize = 24;
const CHECK_LENGTH: usize = 16;

/// Encrypted content, with all that is needed to decrypt it but the key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EncryptedContent {
    pub(crate) key: KeyDerivation,
    /// A hash of the key: tells a wrong key from a damaged file.
    key_check: String,
    nonce: String,
    ciphertext: String,
}

/// Why content cannot be decrypted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecryptError {
    WrongKey,
    Damaged,
}

impl EncryptedContent {
    /// Encrypts content, with a new nonce.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn encrypt(derivation: KeyDerivation, key: &FileKey, content: &[u8]) -> io::Result<Self> {
        let mut nonce = [0; NONCE_LENGTH];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let key_check = STANDARD.encode(check_of(key));
        let associated = associated_data(&derivation, &key_check);
        let payload = Payload { msg: content, aad: &associated };
        let ciphertext = XChaCha20Poly1305::new((&**key).into())
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| io::Error::other("too much to encrypt"))?;
        Ok(Self {
            key: derivation,
            key_check,
            nonce: STANDARD.encode(nonce),
            ciphertext: STANDARD.encode(ciphertext),
        })
    }

    /// Decrypts the content.
    ///
    /// # Errors
    /// If the key is not the one it was encrypted with, or if anything was changed since.
    pub(crate) fn decrypt(&self, key: &FileKey) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
        let bytes = |text: &str| STANDARD.decode(text).map_err(|_| DecryptError::Damaged);
        let check: [u8; CHECK_LENGTH] =
            bytes(&self.key_check)?.try_into().map_err(|_| DecryptError::Damaged)?;
        if check != check_of(key) {
            return Err(DecryptError::WrongKey);
        }
        let nonce: [u8; NONCE_LENGTH] = bytes(&self.nonce)?.try_into().map_err(|_| DecryptError::Damaged)?;
        let associated = associated_data(&self.key, &self.key_check);
        let ciphertext = bytes(&self.ciphertext)?;
        let payload = Payload { msg: &ciphertext, aad: &associated };
        let content = XChaCha20Poly1305::new((&**key).into()).decrypt(&XNonce::from(nonce), payload);
        content.map(Zeroizing::new).map_err(|_| DecryptError::Damaged)
    }
}

/// Says no more of the key than a ciphertext does: a guess can be checked with either.
fn check_of(key: &FileKey) -> [u8; CHECK_LENGTH] {
    let hash = Sha256::new().chain_update(b"toolbay secrets key check\0").chain_update(**key).finalize();
    let mut check = [0; CHECK_LENGTH];
    check.copy_from_slice(&hash[..CHECK_LENGTH]);
    check
}

/// What the ciphertext is bound to: a file whose parameters were changed is damaged.
fn associated_data(derivation: &KeyDerivation, key_check: &str) -> Vec<u8> {
    let derivation = match derivation {
        KeyDerivation::Key => "key".to_owned(),
        KeyDerivation::Passphrase { salt, memory_kib, passes } => {
            format!("passphrase {} {memory_kib} {passes}", STANDARD.encode(salt))
        }
    };
    format!("toolbay-secrets 1 encrypted {derivation} {key_check}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_and_every_change_are_noticed() {
        let key = Zeroizing::new([7; 32]);
        let envelope = EncryptedContent::encrypt(KeyDerivation::Key, &key, b"content").unwrap();
        assert_eq!(envelope.decrypt(&key).unwrap().as_slice(), b"content");
        assert_eq!(envelope.decrypt(&Zeroizing::new([8; 32])), Err(DecryptError::WrongKey));
        let text = serde_json::to_value(&envelope).unwrap();
        for field in ["nonce", "ciphertext"] {
            let original = text[field].as_str().unwrap();
            for at in 0..original.len() {
                let mut changed: Vec<u8> = original.into();
                changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
                let mut text = text.clone();
                text[field] = String::from_utf8(changed).unwrap().into();
                let envelope: EncryptedContent = serde_json::from_value(text).unwrap();
                assert_eq!(envelope.decrypt(&key), Err(DecryptError::Damaged), "{field} at {at}");
            }
        }
        let other = KeyDerivation::Passphrase { salt: [0; 16], memory_kib: 8, passes: 1 };
        assert_eq!(EncryptedContent { key: other, ..envelope }.decrypt(&key), Err(DecryptError::Damaged));
    }

    #[test]
    fn no_nonce_is_used_twice() {
        let key = Zeroizing::new([7; 32]);
        let nonce = || EncryptedContent::encrypt(KeyDerivation::Key, &key, b"").unwrap().nonce;
        assert_ne!(nonce(), nonce());
    }
}
