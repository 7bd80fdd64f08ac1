//! A hash over labelled fields that no two different lists share.

use sha2::{Digest, Sha256};

/// Invariant: label and value each carry their length, so fields cannot run into each other: `["ab", "c"]` and
/// `["a", "bc"]` differ.
pub(crate) struct HashFields(Sha256);

impl HashFields {
    /// `purpose` keeps hashes of different kinds apart; change its number when the fields change their meaning.
    pub(crate) fn new(purpose: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.add("purpose", purpose);
        fields
    }

    pub(crate) fn add(&mut self, label: &str, value: impl AsRef<[u8]>) {
        for part in [label.as_bytes(), value.as_ref()] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Bytes as people compare them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
