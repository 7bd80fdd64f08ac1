//! Where things are, and how other programs are run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask/ lies in the root").to_owned()
}

/// A command that runs in the repository's root.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// `cargo` with these arguments.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = command("cargo");
    command.args(args);
    as_typed(&mut command);
    command
}

/// Forgets what `cargo` told us about ourselves. Build scripts that look at it (that of `ring` does) would run anew
/// whenever somebody builds by hand in between, and half of all crates with them.
pub(crate) fn as_typed(cargo: &mut Command) -> &mut Command {
    let about_us = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(about_us) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Runs to the end; anything but success is an error that names the command.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs to the end and gives what was printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = shown(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot run `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
}

/// What `cargo metadata` says with these further arguments.
pub(crate) fn metadata(args: &[&str]) -> Result<Value> {
    let all = [&["metadata", "--format-version", "1"], args].concat();
    serde_json::from_str(&output(&mut cargo(&all))?).context("`cargo metadata` printed no JSON")
}

/// The workspace's target folder.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    let target = metadata["target_directory"].as_str().context("`cargo metadata` names no target folder")?;
    Ok(PathBuf::from(target))
}

/// Every file below `folder` with this extension, in order.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                if name != "target" && name != "node_modules" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A file's text, or an error that names the file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}
