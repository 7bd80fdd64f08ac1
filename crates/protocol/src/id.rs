//! Request ids.

use std::{fmt, sync::Arc};

use serde::Serialize;
use smallvec::SmallVec;

use crate::Scanner;

/// The id of a request, as it was sent: a JSON number or a JSON string with its quotes.
///
/// Keeping the text means that a client gets back exactly what it sent, and that `1` and `"1"` are different ids
/// without further thought.
#[derive(PartialEq, Eq, Hash)]
pub struct RequestId(SmallVec<[u8; 24]>);

impl RequestId {
    /// The longest id we accept; longer ones serve no purpose but to fill our tables.
    pub const MAX_LEN: usize = 1024;

    /// Takes the text of a JSON string or number; anything else is no id.
    pub fn from_raw(raw: &[u8]) -> Option<Self> {
        std::str::from_utf8(raw).ok()?;
        let whole = Scanner::new(raw).value().ok()?.range() == (0..raw.len());
        if whole { Self::from_scanned(raw) } else { None }
    }

    /// Takes the text of a JSON value.
    pub(crate) fn from_scanned(value: &[u8]) -> Option<Self> {
        let starts_right = matches!(value.first()?, b'"' | b'-' | b'0'..=b'9');
        (starts_right && value.len() <= Self::MAX_LEN).then(|| Self(SmallVec::from_slice(value)))
    }

    /// The id as JSON text.
    pub fn as_raw(&self) -> &str {
        std::str::from_utf8(&self.0).expect("an id is JSON text")
    }

    /// The id as a whole number, if that is what it is.
    pub fn as_number(&self) -> Option<u64> {
        self.as_raw().parse().ok()
    }
}

impl Clone for RequestId {
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0)) // in one go, where a derived one goes byte by byte
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        use std::io::Write;
        let mut text = SmallVec::new();
        write!(text, "{number}").expect("writing to memory does not fail");
        Self(text)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(SmallVec::from_slice(crate::encode_string(text).as_bytes()))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_raw())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_raw())
    }
}

/// The name of a server as the user configured it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// Takes any text; `config` checks what a name may look like.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
