//! Limits of this process that differ from those that its servers get: they have what they would have without us.

use std::{io, sync::OnceLock};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is of no use, and some kernels take a limit for a promise.
const MOST: u64 = 1 << 20;
/// In an argument, a limit that there is none.
const UNLIMITED: &str = "unlimited";

/// The limit of open files that this process was started with, once it was raised.
static FILES_BEFORE: OnceLock<u64> = OnceLock::new();
/// The limit of core dumps that this process was started with, or that a shim is to give its server.
static CORE_BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Raises the soft limit of open files to the hard one: every client and every server takes some. Servers are started
/// with the limit from before; programs that use `select` break above 1,024.
///
/// # Errors
///
/// When the system refuses.
pub fn raise_file_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(MOST).min(MOST);
    let Some(before) = limit.current.filter(|current| *current < most) else { return Ok(()) };
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit })?;
    FILES_BEFORE.get_or_init(|| before);
    Ok(())
}

/// Makes this process leave no core dump, which would contain the secrets of its servers. Servers that are started by a shim
/// get the limit from before.
///
/// # Errors
///
/// When the system refuses.
pub fn disable_core_dumps() -> io::Result<()> {
    let before = getrlimit(Resource::Core).current;
    if before != Some(0) {
        limit_core(Some(0))?;
        CORE_BEFORE.get_or_init(|| before);
    }
    Ok(())
}

/// The limits that servers are to have, as an argument of their shims: open files and core dumps, each empty if it is ours.
pub(crate) fn for_servers() -> String {
    let files = FILES_BEFORE.get().map(u64::to_string).unwrap_or_default();
    let core = CORE_BEFORE.get().map(|core| core.map_or(UNLIMITED.to_owned(), |core| core.to_string()));
    format!("{files},{}", core.unwrap_or_default())
}

/// In a shim, takes on the limit of open files that its server is to have, and notes that of core dumps.
pub(super) fn take_on(argument: &str) {
    let (files, core) = argument.split_once(',').unwrap_or((argument, ""));
    if let Ok(before) = files.parse() {
        let limit = getrlimit(Resource::Nofile);
        // Lowering a limit is always allowed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(before), ..limit });
    }
    let core = if core == UNLIMITED { Some(None) } else { core.parse().ok().map(Some) };
    if let Some(core) = core {
        CORE_BEFORE.get_or_init(|| core);
    }
}

/// In a shim, starts its server with the limit of core dumps that it is to have. The shim knows the server's environment, too, so
/// it has none itself.
pub(super) fn with_core_dumps<T>(start: impl FnOnce() -> T) -> T {
    let Some(before) = CORE_BEFORE.get() else { return start() };
    // Below the hard limit, which was not changed.
    let _ = limit_core(*before);
    let started = start();
    let _ = limit_core(Some(0));
    started
}

fn limit_core(soft: Option<u64>) -> io::Result<()> {
    let limit = getrlimit(Resource::Core);
    Ok(setrlimit(Resource::Core, Rlimit { current: soft, ..limit })?)
}
