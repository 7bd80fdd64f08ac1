//! Source packages of public registries: found, pinned in a lock file, fetched once, unpacked.

mod fetch;
mod lock;
mod registry;
mod unpack;

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result, bail};

pub(crate) use self::{
    fetch::{Library, Source},
    lock::Lock,
    registry::{Offer, ask},
};

/// Runs a program of the system to its end; what it wrote to its standard output is the result.
#[expect(
    clippy::disallowed_methods,
    reason = "a tool of the project: it fetches and unpacks with what the system has"
)]
pub(crate) fn run<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = S>,
) -> Result<Vec<u8>> {
    let program = program.as_ref();
    let Output { status, stdout, stderr } = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`: it must be installed", program.display()))?;
    if !status.success() {
        bail!("{}: {status}: {}", program.display(), String::from_utf8_lossy(&stderr).trim());
    }
    Ok(stdout)
}
