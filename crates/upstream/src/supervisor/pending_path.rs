//! A `PATH` that somebody is still asking for.

use std::ffi::OsString;

use tokio::sync::watch;

/// A `PATH` that somebody is still asking for. Servers that would look for their programs in it are started once it is
/// known, or nobody asks any more.
#[derive(Debug, Clone)]
pub struct PendingPath(watch::Receiver<Option<OsString>>);

/// Tells it. Dropped without a word, servers go on with the `PATH` that they have.
#[derive(Debug)]
pub struct PathSender(watch::Sender<Option<OsString>>);

impl PendingPath {
    /// One that is not known yet.
    pub fn new() -> (PathSender, Self) {
        let (tell, told) = watch::channel(None);
        (PathSender(tell), Self(told))
    }

    /// It, once it is known; nothing if it never will be.
    pub(crate) async fn known(mut self) -> Option<OsString> {
        self.0.wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl PathSender {
    /// This is it.
    pub fn send(self, path: OsString) {
        // Nobody waiting is fine: servers of later ask then.
        self.0.send_replace(Some(path));
    }
}
