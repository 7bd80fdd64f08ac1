//! Installing a bundle: all of it, or nothing.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use toolbay_config::{lock_file, read_small};

use crate::{
    DescriptorError,
    archive::{self, Archive, Limits},
    mcpb::{Bundle, Kind, MANIFEST, MAX_MANIFEST, ManifestFile},
};

/// A larger file is no bundle.
const MAX_ARCHIVE: u64 = 512 << 20;

/// Why a bundle cannot be installed. Nothing is left of it then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The bundle cannot be read.
    #[error("cannot read the bundle {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// It is not the one that was announced.
    #[error("the bundle {} has the wrong SHA-256: expected {expected}, got {found}", path.display())]
    Hash { path: PathBuf, found: String, expected: String },
    /// There is something in it that must not be.
    #[error("the bundle {} is rejected: {message}", path.display())]
    Refused { path: PathBuf, message: String },
    /// It cannot be unpacked.
    #[error("cannot unpack the bundle {}", path.display())]
    Unpack { path: PathBuf, source: io::Error },
    /// It cannot be used.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
}

/// Unpacks a bundle beneath `into`, in a folder named after it, in place of an earlier version. `expected` is its SHA-256 as
/// the source of the bundle announced it.
///
/// Blocks on the disk: do not call it in an async task.
///
/// # Errors
///
/// When the bundle has another hash, contains forbidden entries, or cannot be used. The earlier version stays then.
pub fn install_bundle(bundle: &Path, into: &Path, expected: Option<&str>) -> Result<Bundle, InstallError> {
    let path = || bundle.to_owned();
    let bytes =
        read_small(bundle, MAX_ARCHIVE).map_err(|source| InstallError::Read { path: path(), source })?;
    if let Some(expected) = expected {
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if !found.eq_ignore_ascii_case(expected.trim()) {
            return Err(InstallError::Hash { path: path(), found, expected: expected.to_owned() });
        }
    }
    let refused = |message| InstallError::Refused { path: path(), message };
    let archive = Archive::open(&bytes, Limits::BUNDLE).map_err(refused)?;
    let text = archive.text(MANIFEST, MAX_MANIFEST).map_err(refused)?;
    let manifest = ManifestFile::parse(&text).map_err(refused)?;

    let unpack = |source| InstallError::Unpack { path: path(), source };
    let target = into.join(&manifest.name);
    // No bundle's name begins with a dot, so these names are free.
    let ours = |ending: &str| into.join(format!(".{}{ending}", manifest.name));
    let (unfinished, old) = (ours(".unfinished"), ours(".old"));
    let _lock = lock_file(&ours("")).map_err(unpack)?;
    archive::discard(&unfinished);
    DirBuilder::new().mode(0o700).create(&unfinished).map_err(unpack)?;
    let program = (manifest.server.kind == Kind::Binary).then_some(manifest.server.entry_point.as_str());
    let unpacked = archive.unpack(&unfinished, program).map_err(unpack);
    let finished = unpacked.and_then(|()| {
        Bundle::open(&unfinished)?;
        put_in_place(&unfinished, &target, &old).map_err(unpack)
    });
    if let Err(error) = finished {
        archive::discard(&unfinished);
        return Err(error);
    }
    Ok(Bundle::open(&target)?)
}

/// A server that runs from the old folder keeps the files that it has open.
fn put_in_place(unfinished: &Path, target: &Path, old: &Path) -> io::Result<()> {
    archive::discard(old);
    match fs::rename(target, old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Err(error) = fs::rename(unfinished, target) {
        // Better the old one than none.
        drop(fs::rename(old, target));
        return Err(error);
    }
    archive::discard(old);
    Ok(())
}
