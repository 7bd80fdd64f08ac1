//! Archives of the registries, unpacked by the programs that every system has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::run;

/// Unpacks into a folder that is there whole or not at all.
pub(super) fn unpack(archive: &Path, to: &Path) -> Result<()> {
    let part = PathBuf::from(format!("{}.part", to.display()));
    fs::remove_dir_all(&part).or_else(|error| if part.exists() { Err(error) } else { Ok(()) })?;
    fs::create_dir_all(&part)?;
    let name = archive.to_string_lossy();
    let (from, into) = (name.as_ref(), part.to_string_lossy());
    let is = |ending: &str| name.ends_with(ending);
    if is(".deb") {
        run("dpkg-deb", ["-x", from, &into])?;
    } else if is(".whl") || is(".zip") {
        run("unzip", ["-qq", "-o", from, "-d", &into])?;
    } else if is(".xz") && !is(".tar.xz") {
        let file = archive.file_stem().context("an archive without a name")?;
        fs::write(part.join(file), run("xz", ["-dc", from])?)?;
    } else {
        // Owners and modes are the packer's affair: a folder that cannot be entered is of no use here.
        let modes = ["--no-same-owner", "--no-same-permissions", "--mode=u+rwX", "--delay-directory-restore"];
        run("tar", ["-xf", from, "-C", &into].into_iter().chain(modes))?;
    }
    fs::rename(&part, to).with_context(|| format!("cannot make {}", to.display()))
}
