//! The process between host and server: where its program is found, and what it does.

pub(crate) mod inherited;
mod inside;
pub(crate) mod limits;
pub(crate) mod protocol;

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::process::{getpid, set_child_subreaper};

pub use limits::{disable_core_dumps, raise_file_limit};

use crate::command::find_command;

/// The argument that makes a program a shim.
pub(crate) const ARGUMENT: &str = "__shim";

/// Invariant: true only in a program that turns into a shim on request, so that we never start an embedding program twice.
static IS_OFFERED: AtomicBool = AtomicBool::new(false);

/// Which program is the shim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim(Option<PathBuf>);

impl Shim {
    /// This program itself, even if its file was replaced since. Its `main` must begin with [`run_if_asked`];
    /// otherwise [`spawn`](crate::spawn) refuses.
    pub fn current_exe() -> Self {
        Self(Some(CURRENT_EXE.into()))
    }

    /// Another program whose `main` begins with [`run_if_asked`], such as an installed `toolbay`.
    pub fn program(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// No shim: the server gets a process group, and what it leaves is found by its marker. If the host is killed
    /// with `kill -9`, servers that do not heed the end of their stdin stay.
    pub fn none() -> Self {
        Self(None)
    }

    /// The best there is: this program if it offers itself, else `toolbay` in `path`, else none.
    pub fn find(path: &OsStr) -> Self {
        if is_offered() {
            return Self::current_exe();
        }
        Self(find_command("toolbay".as_ref(), path, None).ok())
    }

    /// Whether servers end even if the host is killed with `kill -9`.
    pub fn covers_kill(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Whether this is a program that would not become a shim.
    pub(crate) fn is_missing(&self) -> bool {
        self.path() == Some(Path::new(CURRENT_EXE)) && !is_offered()
    }
}

/// Still the running program when its file was deleted or replaced.
const CURRENT_EXE: &str = "/proc/self/exe";

fn is_offered() -> bool {
    IS_OFFERED.load(Ordering::Relaxed)
}

/// Must be the first line of `main`: becomes a shim, and never returns, if this program was started as one.
pub fn run_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == ARGUMENT) {
        inherited::close();
        // After the name, which is for people.
        if let Some(limit) = arguments.nth(1).and_then(|limit| limit.into_string().ok()) {
            limits::take_on(&limit);
        }
        inside::run();
    }
    IS_OFFERED.store(true, Ordering::Relaxed);
}

/// Makes orphans below this process its own children, so that those of a killed shim can be reaped.
///
/// For programs that have no children but ours, as `toolbay` is; orphans that we do not know are not reaped.
///
/// # Errors
///
/// When the kernel does not know subreapers.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}
