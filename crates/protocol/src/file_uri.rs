//! `file` URIs, as clients name their roots.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

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

/// Returns the `file` URI of an absolute path.
pub fn of(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => uri.push(char::from(*byte)),
            byte if b"/-._~!$&'()*+,;=:@".contains(byte) => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {

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
    #[test]
    fn paths_are_uris_and_back() {
        let odd = Path::new("/home/ada/a b/100%/é#?.txt");
        assert_eq!(of(odd), "file:///home/ada/a%20b/100%25/%C3%A9%23%3F.txt");
        assert_eq!(path(&of(odd)).as_deref(), Some(odd));
    }
}
