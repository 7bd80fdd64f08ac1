//! Why a process could not be started.

use std::{ffi::OsString, fmt, io, path::PathBuf};

use rustix::io::Errno;
use strsim::osa_distance;

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    #[error(transparent)]
    NotFound(CommandNotFound),
    #[error("no permission to execute `{}`", .program.display())]
    NotExecutable { program: PathBuf },
    #[error("cannot use the working directory `{}`", .cwd.display())]
    WorkingDirectory {
        cwd: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot open `{}` for stderr", .path.display())]
    StderrFile {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The program was found, but the system refused to run it.
    #[error("cannot execute `{}`: {source}", .program.display())]
    Exec {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the shim `{}` failed: {problem}", .shim.display())]
    Shim { shim: PathBuf, problem: String },
    #[error("cannot start `{name}`: no file descriptors left")]
    OutOfFds {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot start `{name}`")]
    Io {
        name: String,
        #[source]
        source: io::Error,
    },
}

impl SpawnError {
    /// One line on how to solve it, where we know one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(missing) => Some(missing.hint()),
            Self::NotExecutable { program } => {
                Some(format!("make it executable: chmod +x {}", program.display()))
            }
            Self::WorkingDirectory { cwd, .. } => {
                Some(format!("create the directory `{}` or change `cwd`", cwd.display()))
            }
            Self::StderrFile { .. } => Some("choose a file in a directory you may write to".into()),
            Self::Exec { source, .. } => exec_hint(source),
            Self::Shim { .. } => Some(
                "reinstall toolbay; in your own program, call \
                 `toolbay_supervise::shim::run_if_asked()` first in `main`"
                    .into(),
            ),
            Self::OutOfFds { .. } => Some("raise the limit (ulimit -n) or run fewer servers".into()),
            Self::Io { .. } => None,
        }
    }

    /// Whether trying again later, with nothing changed, may help.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::OutOfFds { .. } | Self::Io { .. } => true,
            // The file is being written, or memory or processes are short.
            Self::Exec { source, .. } => [Errno::TXTBSY, Errno::AGAIN, Errno::NOMEM]
                .iter()
                .any(|busy| source.raw_os_error() == Some(busy.raw_os_error())),
            Self::NotFound(_)
            | Self::NotExecutable { .. }
            | Self::WorkingDirectory { .. }
            | Self::StderrFile { .. }
            | Self::Shim { .. } => false,
        }
    }

    /// Sorts an error of the system: lack of descriptors has its own remedy.
    pub(crate) fn from_io(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match Errno::from_io_error(&source) {
            Some(Errno::MFILE | Errno::NFILE) => Self::OutOfFds { name, source },
            _ => Self::Io { name, source },
        }
    }
}

fn exec_hint(source: &io::Error) -> Option<String> {
    match Errno::from_io_error(source)? {
        Errno::NOENT => {
            Some("the program exists, but the interpreter in its first line (#!) does not".into())
        }
        Errno::NOEXEC => {
            Some("not a program for this machine; a script needs a first line such as #!/bin/sh".into())
        }
        Errno::TOOBIG => Some("arguments and environment are too long together".into()),
        _ => None,
    }
}

/// No such command. Names every place that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandNotFound {
    pub command: OsString,
    /// The files tried, or for a bare name the directories of `PATH`.
    pub looked_in: Vec<PathBuf>,
    /// A file of that name which is there, but may not be executed.
    pub not_executable: Option<PathBuf>,
    /// Whether its environment had no `PATH`, so that only the directories of every system were searched.
    pub has_no_path: bool,
}

/// Programs that servers are commonly started with.
const LAUNCHERS: [&str; 20] = [
    "npx", "npm", "node", "bunx", "bun", "pnpm", "pnpx", "yarn", "deno", "uvx", "uv", "pipx", "python",
    "python3", "docker", "podman", "java", "dotnet", "ruby", "cargo",
];

impl CommandNotFound {
    /// A program that servers are commonly started with and whose name is close to the missing one.
    pub fn did_you_mean(&self) -> Option<&'static str> {
        let command = self.command.to_str().filter(|command| !LAUNCHERS.contains(command))?;
        // Two letters in the wrong order, or one too many, too few or wrong; a longer word may have two such mistakes.
        let allowed = command.chars().count() / 3;
        let near = LAUNCHERS.iter().map(|launcher| (osa_distance(command, launcher), *launcher));
        near.filter(|(distance, _)| *distance <= allowed.clamp(1, 2)).min().map(|(_, launcher)| launcher)
    }

    /// The error without the places that were searched, of which there may be dozens.
    pub fn headline(&self) -> String {
        let nowhere = if self.looked_in.is_empty() { "; looked nowhere: PATH is empty" } else { "" };
        format!("command `{}` not found{nowhere}", self.command.display())
    }

    /// One line on how to solve it.
    pub fn hint(&self) -> String {
        let command = self.command.to_string_lossy();
        if let Some((program, _)) = command.split_once(' ') {
            return format!("`command` is a single program: use `{program}` and put the rest into `args`");
        }
        if let Some(meant) = self.did_you_mean() {
            return format!("did you mean `{meant}`?");
        }
        let install = match &*command {
            "npx" | "npm" | "node" => "Node.js (https://nodejs.org)",
            "uvx" | "uv" => "uv (https://docs.astral.sh/uv)",
            "bunx" | "bun" => "Bun (https://bun.sh)",
            "docker" | "podman" => "Docker or Podman",
            "python" | "python3" | "pipx" => "Python (https://www.python.org)",
            "deno" => "Deno (https://deno.com)",
            _ => return "install it, give its full path, or add its directory to PATH in `env`".into(),
        };
        format!("install {install}, or give the full path of `{command}`")
    }
}

impl std::error::Error for CommandNotFound {}

impl fmt::Display for CommandNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for (index, place) in self.looked_in.iter().enumerate() {
            let before = if index == 0 { "; looked in " } else { ", " };
            write!(f, "{before}{}", place.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_launcher_is_recognized() {
        for (command, meant) in [
            ("nxp", Some("npx")),
            ("ndoe", Some("node")),
            ("pyhton3", Some("python3")),
            ("dokcer", Some("docker")),
            ("npx", None),
            ("my-server", None),
            ("x", None),
            ("", None),
        ] {
            let missing = CommandNotFound {
                command: command.into(),
                looked_in: Vec::new(),
                not_executable: None,
                has_no_path: false,
            };
            assert_eq!(missing.did_you_mean(), meant, "{command}");
        }
    }
}
