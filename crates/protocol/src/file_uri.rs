//! `file` URIs, as clients name their roots.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

/// Returns the path that a `file` URI means on this machine.
pub fn path(uri: &str) -> Option<PathBuf> {
    let (_, rest) = uri.split_once("://").filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file"))?;
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let is_path = bytes.first() == Some(&b'/') && !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn uris_of_files_are_paths() {
        for (uri, expected) in [
            ("file:///home/ada/project", Some("/home/ada/project")),
            ("FILE://localhost/a%20b/%C3%A9", Some("/a b/é")),
            ("file:///a?x#y", Some("/a")),
            ("file://elsewhere/a", None),
            ("file:///a%0", None),
            ("file:///a%00b", None),
            ("https://example.com/a", None),
            ("/a", None),
        ] {
            assert_eq!(path(uri).as_deref(), expected.map(Path::new), "{uri}");
        }
    }
}
