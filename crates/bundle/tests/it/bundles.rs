//! Bundles, some of them hostile.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use toolbay_bundle::{Bundle, DescriptorSource, InstallError, install_bundle};

use crate::zips::{Entry, file, zip};

const MANIFEST: &str = r#"{
    "manifest_version": "0.3", "name": "weather", "version": "1.0.0", "description": "Weather.",
    "author": {"name": "Somebody"},
    "server": {"type": "binary", "entry_point": "bin/weather", "mcp_config": {"command": "${__dirname}/bin/weather"}}
}"#;

struct Stage(TempDir);

impl Stage {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn shelf(&self) -> PathBuf {
        self.0.path().join("bundles")
    }

    fn install_bytes(&self, bytes: &[u8], sha256: Option<&str>) -> Result<Bundle, InstallError> {
        let bundle = self.0.path().join("x.mcpb");
        fs::write(&bundle, bytes).unwrap();
        install_bundle(&bundle, &self.shelf(), sha256)
    }

    /// Installs a manifest and these.
    fn install(&self, more: &[Entry]) -> Result<Bundle, InstallError> {
        let mut entries = vec![file("manifest.json", MANIFEST)];
        entries.extend_from_slice(more);
        self.install_bytes(&zip(&entries), None)
    }

    /// Everything beneath the whole stage, but for locks and the bundle itself.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(path);
                } else if !path.ends_with("x.mcpb")
                    && !entry.file_name().to_str().is_some_and(|name| name.starts_with('.'))
                {
                    left.push(path.strip_prefix(self.0.path()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        left.sort();
        left
    }
}

/// The whole chain of causes.
fn error_text(error: &InstallError) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn a_bundle_is_unpacked_beneath_its_name_and_its_program_may_run() {
    let stage = Stage::new();
    let folder = Entry { mode: 0o040_755, method: 0, ..file("assets/", "") };
    let script = Entry { mode: 0o104_755, ..file("bin/tool", "#!/bin/sh") };
    let bundle =
        stage.install(&[file("bin/weather", "elf"), folder, script, file("assets/icon.png", "png")]).unwrap();
    assert_eq!(bundle.descriptor().id, "weather");
    assert_eq!(
        stage.left(),
        ["assets/icon.png", "bin/tool", "bin/weather", "manifest.json"]
            .map(|name| format!("bundles/weather/{name}"))
    );
    let mode = |name: &str| {
        fs::metadata(stage.shelf().join("weather").join(name)).unwrap().permissions().mode() & 0o7777
    };
    // The entry point may run whatever its mode says, and nothing becomes setuid.
    assert_eq!(
        [mode("bin/weather"), mode("bin/tool"), mode("assets/icon.png")].map(|mode| mode & !0o022),
        [0o755, 0o755, 0o644]
    );
}

#[test]
fn s22_names_that_lead_elsewhere_are_refused_and_nothing_is_left() {
    let link = |target: &str| Entry { mode: 0o120_777, ..file("link", target) };
    let device = Entry { mode: 0o060_644, ..file("disk", "") };
    let raw = |name: &[u8]| Entry { name: name.to_vec(), ..file("", "x") };
    for (entries, expected) in [
        (vec![file("../evil", "x")], "leads outside the directory"),
        (vec![file("a/../../evil", "x")], "leads outside the directory"),
        (vec![file("a/..", "x")], "leads outside the directory"),
        (vec![file("/etc/evil", "x")], "is an absolute path"),
        (vec![file("C:/evil", "x")], "is not a valid file name"),
        (vec![file("..\\evil", "x")], "is not a valid file name"),
        (vec![file("a//b", "x")], "is not a valid file name"),
        (vec![file("./a", "x")], "is not a valid file name"),
        (vec![file("", "x")], "is not a valid file name"),
        (vec![raw(b"a\0b")], "is not a valid file name"),
        (vec![raw(b"a\nb")], "is not a valid file name"),
        (vec![raw(b"\xff\xfe")], "is not valid UTF-8"),
        (vec![file(&"x".repeat(256), "x")], "is too long"),
        (vec![link("/etc/passwd")], "neither a file nor a directory"),
        (vec![link("/tmp"), file("link/evil", "x")], "neither a file nor a directory"),
        (vec![device], "neither a file nor a directory"),
        (vec![file("a", "1"), file("a", "2")], "occurs twice"),
        (vec![file("manifest.json", "{}")], "occurs twice"),
        (vec![file("Read", "1"), file("read", "2")], "differ only in case"),
        (vec![file("Ärger", "1"), file("ärger", "2")], "differ only in case"),
        (vec![file("Lib/a", "1"), file("lib/b", "2")], "differ only in case"),
        (vec![file("a", "1"), file("a/b", "2")], "both a file and a directory"),
        (vec![file("a/b", "1"), file("a", "2")], "both a file and a directory"),
        (vec![Entry { flags: 1, ..file("a", "x") }], "is encrypted"),
        (vec![Entry { method: 12, ..file("a", "x") }], "with an unsupported method"),
    ] {
        let stage = Stage::new();
        let error = stage.install(&entries).unwrap_err();
        assert!(
            matches!(&error, InstallError::Refused { .. }) && error_text(&error).contains(expected),
            "{}",
            error_text(&error)
        );
        assert!(!error_text(&error).contains('\n'));
        assert_eq!(stage.left(), [""; 0], "{expected}");
    }
}

#[test]
fn s22_bombs_and_liars_are_given_up() {
    let zeros = vec![0; 20 << 20];
    let half = vec![0; 10 << 20];
    for (entries, expected) in [
        (vec![file("bomb", &zeros)], "it expands to more than 16777216 bytes"),
        // Many small ones are one large one.
        (vec![file("one", &half), file("two", &half)], "it expands to more than 16777216 bytes"),
        (vec![Entry { claimed_size: Some(3), ..file("a", "longer") }], "size"),
        (vec![Entry { claimed_size: Some(3), method: 0, ..file("a", "longer") }], "size"),
        (vec![Entry { claimed_crc: Some(7), ..file("a", "x") }], "hecksum"),
    ] {
        let stage = Stage::new();
        let error = stage.install(&entries).unwrap_err();
        assert!(error_text(&error).contains(expected), "{}", error_text(&error));
        assert_eq!(stage.left(), [""; 0], "{expected}");
    }
}

#[test]
fn files_that_are_no_bundles_are_refused() {
    let manifest = |from: &str, to: &str| zip(&[file("manifest.json", MANIFEST.replace(from, to))]);
    let whole = zip(&[file("manifest.json", MANIFEST)]);
    for (bytes, expected) in [
        (b"".to_vec(), "not a zip archive"),
        (b"PK\x03\x04 and so on".to_vec(), "not a zip archive"),
        (whole[..whole.len() / 2].to_vec(), "not a zip archive"),
        (zip(&[]), "it contains no manifest.json"),
        (zip(&[file("folder/manifest.json", MANIFEST)]), "it contains no manifest.json"),
        (zip(&[file("manifest.json", "{")]), "manifest.json: EOF"),
        (zip(&[file("manifest.json", vec![b' '; 2 << 20])]), "more than 1048576 bytes"),
        (manifest("\"0.3\"", "\"7.0\""), "unsupported manifest version \"7.0\""),
        (manifest("\"weather\"", "\"../weather\""), "its name must be"),
        (manifest("\"weather\"", "\"..\""), "its name must be"),
        (manifest("\"1.0.0\"", "\"1/0\""), "its version must be"),
        (manifest("\"binary\"", "\"perl\""), "unknown variant `perl`"),
    ] {
        let stage = Stage::new();
        let error = stage.install_bytes(&bytes, None).unwrap_err();
        assert!(error_text(&error).contains(expected), "{expected}: {}", error_text(&error));
        assert_eq!(stage.left(), [""; 0]);
    }
}

/// Signatures stand behind the archive.
#[test]
fn a_signed_bundle_is_one() {
    let stage = Stage::new();
    let mut bytes = zip(&[file("manifest.json", MANIFEST)]);
    bytes.extend(b"MCPB_SIG_V1\x08\0\0\0signaturMCPB_SIG_END");
    stage.install_bytes(&bytes, None).unwrap();
    assert_eq!(stage.left(), ["bundles/weather/manifest.json"]);
}

/// No name of one bundle is a working file of another.
#[test]
fn bundles_do_not_affect_each_other() {
    let stage = Stage::new();
    for round in 0..2 {
        for name in ["weather", "weather.old", "weather.unfinished", "weather.lock"] {
            let manifest = MANIFEST.replace("\"weather\"", &format!("{name:?}"));
            stage.install_bytes(&zip(&[file("manifest.json", manifest)]), None).unwrap();
        }
        assert_eq!(stage.left().len(), 4, "{round}: {:?}", stage.left());
    }
}

/// Any change of any byte is refused or comes to something harmless: never a panic, never a file elsewhere.
#[test]
fn s22_no_broken_archive_does_harm() {
    let whole = zip(&[
        file("manifest.json", MANIFEST),
        file("bin/weather", "elf"),
        Entry { method: 0, ..file("a/b", "x") },
    ]);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = (state % bytes.len() as u64) as usize;
            bytes[place] ^= (state >> 32) as u8 | 1;
        }
        let stage = Stage::new();
        drop(stage.install_bytes(&bytes, None));
        assert!(stage.left().iter().all(|name| name.starts_with("bundles/")), "{:?}", stage.left());
    }
}

#[test]
fn a_bundle_that_was_announced_must_be_that_one() {
    let stage = Stage::new();
    let bytes = zip(&[file("manifest.json", MANIFEST)]);
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
    stage.install_bytes(&bytes, Some(&hash)).unwrap();
    let error = stage
        .install_bytes(&zip(&[file("manifest.json", MANIFEST), file("a", "")]), Some(&hash))
        .unwrap_err();
    assert!(matches!(error, InstallError::Hash { .. }), "{error}");
    assert_eq!(stage.left(), ["bundles/weather/manifest.json"]);
}

#[test]
fn a_new_version_takes_the_place_of_the_old_one_or_leaves_it() {
    let stage = Stage::new();
    stage.install(&[file("old", "1")]).unwrap();
    stage.install(&[file("../evil", "1")]).unwrap_err();
    stage.install(&[file("half", "1"), Entry { claimed_crc: Some(7), ..file("bad", "x") }]).unwrap_err();
    assert_eq!(stage.left(), ["bundles/weather/manifest.json", "bundles/weather/old"]);
    stage.install(&[file("new", "1")]).unwrap();
    assert_eq!(stage.left(), ["bundles/weather/manifest.json", "bundles/weather/new"]);
}
