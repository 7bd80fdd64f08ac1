//! A file as text.

use std::io::Read;

use encoding_rs_io::DecodeReaderBytesBuilder;

use crate::tree::{Content, RelPath, Tree, TreeError};

/// A file larger than this is not read as a whole.
pub const MAX_READ: u64 = 32 * 1024 * 1024;
/// A file with a NUL in so many first bytes is not text.
const SNIFFED: usize = 64 * 1024;

/// A file as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Where it is.
    pub path: RelPath,
    /// All of it; what is not UTF-8 is replaced.
    pub text: String,
}

/// Why a file cannot be had as text.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be had at all.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It is not text.
    #[error("`{path}` is a binary file")]
    Binary {
        /// What was asked for.
        path: RelPath,
    },
}

pub(super) fn read(tree: &Tree, path: &RelPath) -> Result<FileText, FileError> {
    let Content { bytes, .. } = tree.read(path, MAX_READ)?;
    match decoded(bytes) {
        Some(text) => Ok(FileText { path: path.clone(), text }),
        None => Err(FileError::Binary { path: path.clone() }),
    }
}

/// Bytes as text: UTF-16 where a byte-order mark says so, else UTF-8; nothing where they are no text.
pub(crate) fn decoded(bytes: Vec<u8>) -> Option<String> {
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if !is_utf16 && memchr::memchr(0, &bytes[..bytes.len().min(SNIFFED)]).is_some() {
        return None;
    }
    if !is_utf16 && !bytes.starts_with(b"\xef\xbb\xbf") {
        return Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()),
        );
    }
    let mut text = Vec::new();
    // Reading from memory does not fail.
    DecodeReaderBytesBuilder::new().build(bytes.as_slice()).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_is_read_whatever_its_encoding() {
        let utf16: Vec<u8> = "\u{feff}hé\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}hé\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [utf16, big, "hé\n".into(), "\u{feff}hé\n".into()] {
            assert_eq!(decoded(bytes.clone()).as_deref(), Some("hé\n"), "{bytes:?}");
        }
        assert_eq!(decoded(b"a\xffb".to_vec()).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(decoded(b"\x7fELF\0\0".to_vec()), None);
    }
}
