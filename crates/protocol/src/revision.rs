//! The dated revisions of the protocol.

use std::{fmt, str::FromStr};

/// A revision of MCP; later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first one; HTTP+SSE.
    V2024_11_05,
    /// Streamable HTTP, and the only one with batches.
    V2025_03_26,
    /// Structured content, elicitation.
    V2025_06_18,
    /// The last one with a handshake.
    V2025_11_25,
    /// Stateless: every request carries what it needs.
    V2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// Whether requests of this revision stand alone, without a handshake.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// The date that names it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A date that names no revision we know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol revision")]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or(UnknownRevision)
    }
}
