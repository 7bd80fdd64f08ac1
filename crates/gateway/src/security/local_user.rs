//! Which user of this machine is at the other end of a connection.
//!
//! Loopback is a network of all users of a machine. The kernel knows who made the socket at the other end, and tells
//! anyone who asks for exactly that socket, in the same few microseconds however many connections there are.

mod proc_net;
mod sock_diag;

use std::{
    io,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::process::geteuid;
use tokio::{net::TcpStream, sync::Semaphore, task::spawn_blocking};

/// Which users of this machine are served on its loopback addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalUsers {
    /// All of them.
    Anyone,
    /// The one with this id, and root, from whom nothing can be kept.
    Only(u32),
}

impl Default for LocalUsers {
    /// The user who runs this process.
    fn default() -> Self {
        Self::Only(geteuid().as_raw())
    }
}

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerUser {
    /// That of a user who is served.
    Served,
    /// One of another user.
    OtherUser,
    /// One of an unknown user: the socket is in another network namespace, or closed already.
    Unknown,
}

const ROOT: u32 = 0;

impl LocalUsers {
    /// Looks at a new connection.
    pub(crate) async fn judge(self, connection: &TcpStream) -> PeerUser {
        let Self::Only(user) = self else { return PeerUser::Served };
        let ends =
            connection.peer_addr().and_then(|peer| Ok(SocketAddresses::new(peer, connection.local_addr()?)));
        let uid = match ends {
            Ok(ends) => uid_of(ends).await,
            Err(_) => None,
        };
        match uid {
            Some(uid) if uid == user || uid == ROOT => PeerUser::Served,
            Some(_) => PeerUser::OtherUser,
            None => PeerUser::Unknown,
        }
    }
}

/// The two ends of a connection, both of the same family.
#[derive(Debug, Clone, Copy)]
struct SocketAddresses {
    peer: SocketAddr,
    local: SocketAddr,
}

impl SocketAddresses {
    /// IPv4 in the clothes of IPv6 is IPv4 to the kernel's tables.
    fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        Self { peer: canonical(peer), local: canonical(local) }
    }
}

/// The user who created the socket at the other end. A socket that its process has closed has no user.
async fn uid_of(ends: SocketAddresses) -> Option<u32> {
    /// Whether the kernel has answered before. "There is no such socket" and "I have no module for this" are one error.
    static ANSWERS: AtomicBool = AtomicBool::new(false);
    /// One at a time reads the table, which is as long as there are connections.
    static READING: Semaphore = Semaphore::const_new(1);

    match sock_diag::uid_of(ends) {
        Ok(uid) => {
            ANSWERS.store(true, Ordering::Relaxed);
            uid
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && ANSWERS.load(Ordering::Relaxed) => None,
        Err(error) => {
            tracing::debug!(%error, "sock_diag does not answer, so /proc/net is read");
            let _reading = READING.acquire().await.ok()?;
            spawn_blocking(move || proc_net::uid_of(ends)).await.ok()?
        }
    }
}

#[cfg(test)]
mod tests;
