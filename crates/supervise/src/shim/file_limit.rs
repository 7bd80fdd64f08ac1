//! How many files we may have open: as many as we are allowed to, while servers get what they would without us.

use std::{io, sync::OnceLock};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is of no use, and some kernels take a limit for a promise.
const MOST: u64 = 1 << 20;

/// The limit that this process was started with, once it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

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
    BEFORE.get_or_init(|| before);
    Ok(())
}

/// The limit that servers are to have, as an argument of their shims; empty if it is ours.
pub(crate) fn for_servers() -> String {
    BEFORE.get().map(u64::to_string).unwrap_or_default()
}

/// In a shim, takes on the limit that its server is to have.
pub(super) fn take_on(argument: &str) {
    if let Ok(before) = argument.parse() {
        let limit = getrlimit(Resource::Nofile);
        // Lowering a limit is always allowed.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(before), ..limit });
    }
}
