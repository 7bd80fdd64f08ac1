//! Text in pieces, so that large parts move without being copied.

use bytes::{Bytes, BytesMut};
use smallvec::{SmallVec, smallvec};

/// A text made of pieces.
///
/// Invariant: texts below [`Rope::FLAT`] are one piece, so that small messages cost one write and no bookkeeping.
#[derive(Debug, Clone, Default)]
pub struct Rope {
    pieces: SmallVec<[Bytes; 1]>,
}

impl Rope {
    /// Below this length pieces are joined: copying is then cheaper than carrying them.
    pub const FLAT: usize = 8 * 1024;

    /// Joins `pieces`, copying only when the whole is small.
    pub fn from_pieces(pieces: SmallVec<[Bytes; 8]>) -> Self {
        let length: usize = pieces.iter().map(Bytes::len).sum();
        if length >= Self::FLAT {
            return Self { pieces: pieces.into_iter().filter(|piece| !piece.is_empty()).collect() };
        }
        let mut flat = Vec::with_capacity(length);
        for piece in &pieces {
            flat.extend_from_slice(piece);
        }
        Bytes::from(flat).into()
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces in order.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// The pieces in order, given away.
    pub fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        self.pieces.into_iter()
    }

    /// The whole text in one piece.
    pub fn into_bytes(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.pop().unwrap_or_default();
        }
        let mut flat = BytesMut::with_capacity(self.len());
        for piece in &self.pieces {
            flat.extend_from_slice(piece);
        }
        flat.freeze()
    }

    /// The same JSON value on one line.
    ///
    /// In valid JSON a line break is always white space between tokens, so a blank means the same.
    pub fn on_one_line(self) -> Self {
        Self { pieces: self.pieces.into_iter().map(on_one_line).collect() }
    }
}

/// JSON text without line breaks, as [`Rope::on_one_line`]; copies only when there is one.
pub fn on_one_line(piece: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &piece).is_none() {
        return piece;
    }
    let is_break = |byte: u8| byte == b'\n' || byte == b'\r';
    piece.iter().map(|&byte| if is_break(byte) { b' ' } else { byte }).collect()
}

impl From<Bytes> for Rope {
    fn from(text: Bytes) -> Self {
        Self { pieces: smallvec![text] }
    }
}

impl From<String> for Rope {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}
