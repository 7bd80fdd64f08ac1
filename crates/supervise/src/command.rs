//! Finding a program before it is started, so that an error can say where we looked.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::error::CommandNotFound;

/// The file that `command` means: itself if it has a slash (relative to `cwd`), else the first match in `path`.
///
/// # Errors
///
/// When there is none that may be executed; the error names the places tried.
pub fn find_command(command: &OsStr, path: &OsStr, cwd: Option<&Path>) -> Result<PathBuf, CommandNotFound> {
    let base = cwd.unwrap_or(Path::new(""));
    let mut missing = CommandNotFound {
        command: command.to_owned(),
        looked_in: Vec::new(),
        not_executable: None,
        has_no_path: false,
    };
    if command.is_empty() {
        return Err(missing);
    }
    if command.as_bytes().contains(&b'/') {
        let file = absolute(&base.join(command));
        return match look_at(&file) {
            FoundCommand::Program => Ok(file),
            found => {
                missing.not_executable = (found == FoundCommand::NotExecutable).then(|| file.clone());
                missing.looked_in.push(file);
                Err(missing)
            }
        };
    }
    for directory in std::env::split_paths(path) {
        // An empty entry of PATH means the working directory.
        let directory = absolute(&base.join(directory));
        let file = directory.join(command);
        match look_at(&file) {
            FoundCommand::Program => return Ok(file),
            FoundCommand::NotExecutable => {
                missing.not_executable.get_or_insert(file);
            }
            FoundCommand::Nothing => {}
        }
        if !missing.looked_in.contains(&directory) {
            missing.looked_in.push(directory);
        }
    }
    Err(missing)
}

#[derive(PartialEq, Eq)]
enum FoundCommand {
    Program,
    NotExecutable,
    Nothing,
}

fn look_at(file: &Path) -> FoundCommand {
    if !file.is_file() {
        return FoundCommand::Nothing;
    }
    match accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => FoundCommand::Program,
        Err(_) => FoundCommand::NotExecutable,
    }
}

/// The shim may run elsewhere, so no relative path leaves this module.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// One program to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// For people: shown by `ps` and in errors.
    pub name: String,
    /// Invariant: one program, looked up in `env`'s `PATH`; it is never split at spaces and never meets a shell.
    pub command: OsString,
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited from the host.
    pub env: BTreeMap<OsString, OsString>,
    /// `None` is the host's own directory.
    pub cwd: Option<PathBuf>,
    pub stderr: StderrPolicy,
}

/// Where the server's stderr goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StderrPolicy {
    /// Into a [`LogRing`](crate::LogRing).
    #[default]
    Capture,
    /// Into [`Process::stderr`](crate::Process::stderr), for the caller to read.
    Pipe,
    /// To the host's own stderr.
    Inherit,
    Null,
    /// Appended to a file, which is created (0600) if need be.
    File(PathBuf),
}

/// How long a server may take to end by itself: closing its stdin, then SIGTERM, then SIGKILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopGrace {
    pub after_stdin: Duration,
    pub after_term: Duration,
}

impl Default for StopGrace {
    fn default() -> Self {
        Self { after_stdin: Duration::from_secs(2), after_term: Duration::from_secs(2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_looked_up_in_path_and_a_path_is_taken_as_it_is() {
        let found = find_command("sh".as_ref(), "/nowhere:/bin".as_ref(), None);
        assert_eq!(found, Ok("/bin/sh".into()));
        let found = find_command("./sh".as_ref(), "".as_ref(), Some(Path::new("/bin")));
        assert_eq!(found, Ok("/bin/./sh".into()));
        let found = find_command("/bin/sh".as_ref(), "".as_ref(), Some(Path::new("/tmp")));
        assert_eq!(found, Ok("/bin/sh".into()));
    }

    #[test]
    fn what_is_missing_is_named_with_the_places_tried() {
        let error = find_command("npx".as_ref(), "/a:/b:/a".as_ref(), None).unwrap_err();
        assert_eq!(error.to_string(), "command `npx` not found; looked in /a, /b");
        assert!(error.hint().contains("Node.js"));
        let error = find_command("npx -y thing".as_ref(), "/a".as_ref(), None).unwrap_err();
        assert!(error.hint().contains("put the rest into `args`"));
        let error = find_command("/etc/passwd".as_ref(), "/a".as_ref(), None).unwrap_err();
        assert_eq!(error.not_executable, Some("/etc/passwd".into()));
    }
}
