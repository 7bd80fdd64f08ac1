//! Clients of this user on a Unix socket, one message per line.

use std::{io, sync::Arc, time::Duration};

use rustix::{net::Shutdown, process::geteuid};
use tokio::{
    io::Interest,
    net::{UnixListener, UnixStream},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::{Access, Principal};
use toolbay_transport::stdio::connect;

use crate::{connected_clients::ClientTransport, gateway::Gateway, listener::connection};

/// Clients at once.
const MAX_CLIENTS: usize = 1024;
/// How long the last responses may take to be written.
const FLUSH: Duration = Duration::from_secs(2);
/// How long one looks for clients that came just before the socket was gone.
const LAST_LOOK: Duration = Duration::from_millis(10);
/// How soon a client is missed that closed its sending half before.
const LOOK: Duration = Duration::from_millis(20);

impl Gateway {
    /// Serves clients of this user on a Unix socket: new ones until `retire`, those that are there until they leave or until
    /// `stop`.
    pub async fn serve_unix(
        self: &Arc<Self>,
        listener: &UnixListener,
        retire: CancellationToken,
        stop: CancellationToken,
    ) {
        let clients = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = retire.cancelled() => break,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream, &clients, &stop),
                Err(error) => {
                    tracing::warn!(%error, "the Unix socket cannot accept clients for now");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
        // Those who connected before the socket was gone are served, too.
        while !stop.is_cancelled()
            && let Ok(Ok((stream, _))) = timeout(LAST_LOOK, listener.accept()).await
        {
            self.admit(stream, &clients, &stop);
        }
        clients.close();
        clients.wait().await;
    }

    fn admit(self: &Arc<Self>, stream: UnixStream, clients: &TaskTracker, stop: &CancellationToken) {
        if !is_ours(&stream) || clients.len() >= MAX_CLIENTS {
            tracing::warn!("rejected a client of the Unix socket");
            return;
        }
        let (gateway, stop) = (self.clone(), stop.clone());
        clients.spawn(async move {
            if let Err(error) = serve(&gateway, stream, stop).await {
                tracing::warn!(%error, "a client of the Unix socket cannot be served");
            }
        });
    }
}

/// As whom a user of this machine calls: the user who runs us is the owner, any other a principal of their own.
fn local_access(uid: u32) -> Arc<Access> {
    let owner = Access::owner();
    if uid == geteuid().as_raw() {
        return owner;
    }
    Arc::new(Access { principal: Principal::local_user(uid), ..Access::clone(&owner) })
}

/// Whether the client is the user who runs us.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

async fn serve(gateway: &Arc<Gateway>, stream: UnixStream, stop: CancellationToken) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let pid = peer.pid().and_then(|pid| pid.try_into().ok());
    let client = gateway.clients.enter(ClientTransport::Unix, local_access(peer.uid()), pid);
    let stream = stream.into_std()?;
    let watched = UnixStream::from_std(stream.try_clone()?)?;
    let (reader, writer) = UnixStream::from_std(stream)?.into_split();
    let tasks = TaskTracker::new();
    let connection = connect(reader, writer, gateway.options.limits.max_body, &tasks);
    tokio::select! {
        () = connection::run(gateway, connection, client, stop) => {}
        gone = closed(&watched) => gone?, // dropping what runs cancels it
    }
    tasks.close();
    if timeout(FLUSH, tasks.wait()).await.is_err() {
        // A client that does not read its last responses does not get them; this ends the writing.
        rustix::net::shutdown(&watched, Shutdown::Both)?;
        tasks.wait().await;
    }
    Ok(())
}

/// Ends when the client has closed its end wholly. One that closed its sending half alone still reads.
async fn closed(socket: &UnixStream) -> io::Result<()> {
    // There is no priority data on these sockets, so this waits until the client closes its end.
    socket.ready(Interest::PRIORITY).await?;
    while !socket.ready(Interest::WRITABLE).await?.is_write_closed() {
        sleep(LOOK).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_user_is_the_owner_and_any_other_a_principal_of_their_own() {
        let ours = geteuid().as_raw();
        assert!(local_access(ours).principal.is_owner());
        let other = local_access(ours + 1).principal.clone();
        assert_eq!(other.as_str(), format!("uid:{}", ours + 1));
    }
}
