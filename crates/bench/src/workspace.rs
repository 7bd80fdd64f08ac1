//! The repository, and how its programs are built.
#![expect(clippy::disallowed_methods, reason = "starts compilers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The repository's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/bench lies two levels below the root").to_owned()
}

/// A command that runs in the repository's root.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// `cargo` with these arguments.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = command("cargo");
    command.args(args);
    as_typed(&mut command);
    command
}

/// Removes the variables that `cargo` sets for us. Build scripts that read them (that of `ring` does) would run again
/// after every build by hand in between, and half of all crates with them.
fn as_typed(cargo: &mut Command) -> &mut Command {
    let about_us = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(about_us) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs to the end; anything but success is an error that names the command.
pub fn must(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// A command as one would type it.
pub fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}
