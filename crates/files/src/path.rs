//! [`RelPath`]: where a file is in its tree.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A path relative to the root of a tree: any bytes but NUL, parts separated by `/`, none of them empty, `.` or `..`.
/// The empty path is the root itself. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Arc<[u8]>);

/// Why a path was refused before anyone looked at the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It begins with `/`.
    #[error("the path is absolute; it must be relative to the root")]
    Absolute,
    /// It has a part `..`.
    #[error("the path contains `..`; it must be relative to the root")]
    Parent,
    /// It has a NUL byte, which no file name has.
    #[error("the path contains a NUL byte")]
    Nul,
}

impl RelPath {
    /// The root itself.
    pub fn root() -> Self {
        Self(Arc::from(&b""[..]))
    }

    /// Takes what a user or a model wrote: `./src//main.rs/` is `src/main.rs`.
    ///
    /// # Errors
    /// For what could leave the tree: absolute paths and `..`; and for NUL.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::from_bytes(text.as_bytes())
    }

    /// As [`RelPath::parse`], for names that are not UTF-8.
    ///
    /// # Errors
    /// As [`RelPath::parse`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathError> {
        if bytes.contains(&0) {
            return Err(PathError::Nul);
        }
        if bytes.first() == Some(&b'/') {
            return Err(PathError::Absolute);
        }
        let mut parts = Vec::new();
        for part in bytes.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return Err(PathError::Parent),
                _ => parts.push(part),
            }
        }
        Ok(Self(parts.join(&b'/').into()))
    }

    /// The file `name` in this folder. `name` is one part, as a folder's listing gives it.
    pub fn join(&self, name: &[u8]) -> Self {
        if self.is_root() {
            return Self(name.into());
        }
        Self([&self.0, &b"/"[..], name].concat().into())
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// As stored by the system.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For calls that take a path; empty for the root.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// For showing: what is not UTF-8 becomes U+FFFD.
    pub fn to_str_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The folder this is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = memchr::memrchr(b'/', &self.0).unwrap_or(0);
        Some(Self(self.0[..end].into()))
    }

    /// The last part; empty for the root.
    pub fn name(&self) -> &[u8] {
        let start = memchr::memrchr(b'/', &self.0).map_or(0, |slash| slash + 1);
        &self.0[start..]
    }

    /// Whether this is `folder` or something in it, however deep.
    pub fn is_in(&self, folder: &Self) -> bool {
        folder.is_root()
            || self.0.strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { "" })?;
        f.write_str(&self.to_str_lossy())
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    #[test]
    fn what_could_leave_the_tree_is_refused() {
        for (text, error) in [
            ("/etc/passwd", PathError::Absolute),
            ("..", PathError::Parent),
            ("a/../../b", PathError::Parent),
            ("a\0b", PathError::Nul),
        ] {
            assert_eq!(RelPath::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn one_way_to_write_a_path() {
        for text in ["a/b", "./a/b", "a//b/", "a/./b"] {
            assert_eq!(RelPath::parse(text).unwrap().as_bytes(), b"a/b", "{text}");
        }
        assert!(RelPath::parse(".").unwrap().is_root());
    }

    #[test]
    fn parts_and_folders() {
        let path = RelPath::parse("a/b/c.rs").unwrap();
        assert_eq!(path.name(), b"c.rs");
        assert_eq!(path.parent().unwrap().as_bytes(), b"a/b");
        assert!(path.is_in(&RelPath::parse("a/b").unwrap()));
        assert!(path.is_in(&RelPath::root()));
        assert!(!path.is_in(&RelPath::parse("a/b/c").unwrap()));
        assert_eq!(RelPath::parse("a").unwrap().parent(), Some(RelPath::root()));
    }
}
