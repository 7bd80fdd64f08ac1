//! Signals that want us to end: the first asks, the second insists.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Cancels `stop` at the first SIGINT, SIGTERM or SIGHUP and ends the process at the second. Servers end even then:
/// their shims notice that we are gone.
pub(crate) fn listen(stop: CancellationToken, tasks: &TaskTracker) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tasks.spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
                _ = hangup.recv() => 129,
            }
        };
        next().await;
        stop.cancel();
        std::process::exit(next().await);
    });
    Ok(())
}
