//! The chain of records, and the head that says where it begins and ends.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The hash of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineHash(pub(crate) [u8; 32]);

impl LineHash {
    /// What the first record of all has as the hash of the line before it.
    pub(crate) const NONE: Self = Self([0; 32]);

    /// The hash of a line without its line break.
    pub(crate) fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// Appends it in hexadecimal digits.
    pub(crate) fn write(self, to: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in self.0 {
            to.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(64);
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for LineHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LineHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a hash"))
    }
}

/// What a line says of its place in the chain.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Link {
    /// Counts up from 1, without gaps.
    pub(crate) seq: u64,
    /// The hash of the line before it.
    pub(crate) prev: LineHash,
}

impl Link {
    /// Reads the place of a line; none where it is no record.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// Where a chain begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The number of the oldest record that is kept.
    pub(crate) first: u64,
    /// The hash of the line before it.
    pub(crate) first_prev: LineHash,
    /// The number of the newest record; `first - 1` while there is none.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) hash: LineHash,
}

impl Head {
    /// Of a chain without records.
    pub(crate) const EMPTY: Self =
        Self { first: 1, first_prev: LineHash::NONE, seq: 0, hash: LineHash::NONE };

    /// The file is always of this length, so that it is replaced by one write.
    const LENGTH: usize = 256;

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut text = serde_json::to_vec(&self).unwrap_or_default();
        text.resize(Self::LENGTH - 1, b' ');
        text.push(b'\n');
        text
    }

    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}
