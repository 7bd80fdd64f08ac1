//! Programs that are started for the user and left alone, such as a browser.

use std::{collections::BTreeMap, ffi::OsString, io, path::Path, process::Stdio, time::Duration};

use tokio::time::timeout;

/// How long a program may take to fail. One that runs longer is taken to have succeeded.
const FAILS_WITHIN: Duration = Duration::from_secs(3);

/// Starts a program that outlives us: it belongs to no tree, and signals of our terminal do not reach it.
///
/// # Errors
/// If it cannot be started, or ends with a failure at once.
pub async fn start_detached(
    program: &Path,
    args: &[OsString],
    env: &BTreeMap<OsString, OsString>,
) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
    let mut command = tokio::process::Command::new(program);
    command.args(args).env_clear().envs(env).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    match timeout(FAILS_WITHIN, child.wait()).await {
        Ok(status) if !status.as_ref().is_ok_and(std::process::ExitStatus::success) => {
            Err(status.map_or_else(|error| error, |status| io::Error::other(status.to_string())))
        }
        _ => Ok(()),
    }
}
