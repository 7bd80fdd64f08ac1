//! What may be wrong with one direction of a connection.

use std::time::Duration;

/// Faults of one direction. The default has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Toxics {
    /// Every piece comes so much later…
    pub latency: Duration,
    /// …and up to so much more.
    pub jitter: Duration,
    /// So many bytes in a second.
    pub bandwidth: Option<u32>,
    /// In pieces of at most so many bytes.
    pub slice: Option<usize>,
    /// Nothing passes, not even an end; the sender's buffers are full at some time.
    pub hold: bool,
    /// The connection ends there.
    pub cut: Option<Cut>,
}

/// Where a connection ends, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// After so many bytes in this direction.
    pub after: u64,
    /// How.
    pub end: End,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Closed on both sides.
    Fin,
    /// Reset on both sides.
    Reset,
}

impl Toxics {
    /// Every piece comes later.
    pub fn latency(latency: Duration, jitter: Duration) -> Self {
        Self { latency, jitter, ..Self::default() }
    }

    /// So many bytes in a second.
    pub fn bandwidth(bytes: u32) -> Self {
        Self { bandwidth: Some(bytes), ..Self::default() }
    }

    /// Small pieces, each on its own.
    pub fn slices(bytes: usize) -> Self {
        Self { slice: Some(bytes), ..Self::default() }
    }

    /// Nothing passes.
    pub fn paused() -> Self {
        Self { hold: true, ..Self::default() }
    }

    /// The connection ends after so many bytes.
    pub fn cut(after: u64, end: End) -> Self {
        Self { cut: Some(Cut { after, end }), ..Self::default() }
    }
}
