//! The socket beside a running hub.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use rustix::process::geteuid;
use tokio::{
    io::AsyncWriteExt,
    net::{UnixListener, UnixStream},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::{ErrorCode, ErrorObject, Message, Rope, error};

use crate::{
    Api, ControlError, HubAddress, McpSocket,
    lines::Lines,
    mcp_socket::{Inode, remove_ours},
    method,
    place::{Paths, sweep, try_lock},
};

/// The longest request: an MCP message and its envelope.
const MAX_REQUEST: usize = 32 * 1024 * 1024;
/// Requests of one client at once.
const MAX_RUNNING: usize = 64;
/// While more than this waits to be read by a client, nothing more is taken from it.
const MAX_UNSENT: usize = 1024 * 1024;
/// Clients at once.
const MAX_CLIENTS: usize = 256;

/// The control socket of this hub; gone when dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    paths: Paths,
    inode: Option<Inode>,
    /// Invariant: the process that holds this lock owns the sockets; left-over ones belong to no process.
    lock: Arc<File>,
}

impl Listener {
    /// Makes the socket. What killed hubs left behind is removed.
    ///
    /// # Errors
    ///
    /// When another hub has the place, or there is no directory for it.
    pub fn bind(place: &HubAddress) -> Result<Self, ControlError> {
        let paths = place.prepare()?;
        let Some(lock) = try_lock(&paths.lock)? else { return Err(ControlError::Taken) };
        sweep(&paths.dir);
        let failed = |source| ControlError::Socket { path: paths.socket.clone(), source };
        remove_file(&paths.socket)?;
        let listener = UnixListener::bind(&paths.socket).map_err(failed)?;
        fs::set_permissions(&paths.socket, Permissions::from_mode(0o600)).map_err(failed)?;
        let inode = Inode::of(&paths.socket);
        Ok(Self { listener, paths, inode, lock: Arc::new(lock) })
    }

    /// The socket for MCP clients beside this one.
    ///
    /// Invariant: it belongs to the process that holds the lock, too, so a left-over one is replaced.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn mcp_socket(&self) -> Result<McpSocket, ControlError> {
        remove_file(&self.paths.mcp_socket)?;
        McpSocket::bind(&self.paths.mcp_socket, Some(self.lock.clone()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.paths.socket
    }

    /// Whether others still find it: the directory may have been cleaned up.
    pub fn presence(&self) -> HubPresence {
        HubPresence { path: self.paths.socket.clone(), inode: self.inode }
    }

    /// Answers clients until `stop`, new ones only until the hub drains.
    pub async fn serve(self, api: Api, stop: CancellationToken) {
        let clients = TaskTracker::new();
        let drain = api.hub().map(|hub| hub.drain.clone()).unwrap_or_default();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                () = drain.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if is_ours(&stream) && clients.len() < MAX_CLIENTS => {
                    let (api, stop) = (api.clone(), stop.clone());
                    clients.spawn(async move {
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = serve_client(stream, api) => {}
                        }
                    });
                }
                Ok(_) => tracing::warn!("rejected a client of the control socket"),
                Err(error) => {
                    tracing::warn!(%error, "the control socket cannot accept clients");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        if drain.is_cancelled() {
            self.evict();
        }
        drop(self);
        if let Some(hub) = api.hub() {
            hub.released.cancel();
        }
        clients.close();
        clients.wait().await;
    }

    /// Gives up the place, so that another hub can have it at once.
    fn evict(&self) {
        // Before the lock is free: then they could be another hub's.
        let _ = fs::remove_file(&self.paths.socket);
        let _ = fs::remove_file(&self.paths.mcp_socket);
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the lock of this hub cannot be given up");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // While we hold the lock: later the socket may be another hub's.
        if self.inode.is_some() && Inode::of(&self.paths.socket) == self.inode {
            let _ = fs::remove_file(&self.paths.lock);
        }
        remove_ours(&self.paths.socket, self.inode);
    }
}

/// Tells whether a hub can still be found.
#[derive(Debug)]
pub struct HubPresence {
    path: PathBuf,
    inode: Option<Inode>,
}

impl HubPresence {
    /// Whether the socket is still there, and still the same.
    pub fn is_there(&self) -> bool {
        self.inode.is_some() && Inode::of(&self.path) == self.inode
    }
}

/// Removes what may be there.
fn remove_file(path: &Path) -> Result<(), ControlError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(ControlError::Socket { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Whether the client is the user who runs this hub.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// Serves one client. When it disconnects, its requests are dropped and so cancelled.
async fn serve_client(stream: UnixStream, mut api: Api) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader, MAX_REQUEST);
    let mut running = FuturesUnordered::new();
    let mut unsent = PendingResponses::default();
    loop {
        tokio::select! {
            line = lines.next(), if running.len() < MAX_RUNNING && unsent.bytes <= MAX_UNSENT => match line {
                Ok(Some(line)) => match Message::parse(line) {
                    Ok(Message::Request(request)) => {
                        let api = api.clone();
                        running.push(async move { api.respond(request).await });
                    }
                    Ok(Message::Notification(notification)) if notification.method() == method::PROJECT => {
                        api = api.in_project(&notification);
                    }
                    Ok(Message::Notification(_) | Message::Response(_)) => {}
                    Err(why) => {
                        let why = ErrorObject::new(ErrorCode::INVALID_REQUEST, why.to_string());
                        unsent.add(error(None, &why).into());
                    }
                },
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(%error, "a client of the control socket failed");
                    return;
                }
            },
            Some(answer) = running.next() => unsent.add(answer),
            written = writer.write(unsent.head()), if !unsent.is_empty() => match written {
                Ok(count) => unsent.advance(count),
                Err(_) => return,
            },
        }
    }
}

/// Responses that are being written.
#[derive(Debug, Default)]
struct PendingResponses {
    pieces: std::collections::VecDeque<bytes::Bytes>,
    bytes: usize,
}

impl PendingResponses {
    fn add(&mut self, text: Rope) {
        self.bytes += text.len() + 1;
        self.pieces.extend(text.into_pieces().filter(|piece| !piece.is_empty()));
        self.pieces.push_back(bytes::Bytes::from_static(b"\n"));
    }

    fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn head(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| &piece[..])
    }

    fn advance(&mut self, count: usize) {
        if let Some(piece) = self.pieces.front_mut() {
            let count = count.min(piece.len());
            bytes::Buf::advance(piece, count);
            self.bytes -= count;
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
    }
}
