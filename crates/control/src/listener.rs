//! The socket beside a running hub.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
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

use crate::{Api, ControlError, McpSocket, Place, lines::Lines};

/// The longest request: an MCP message and its envelope.
const MAX_REQUEST: usize = 32 * 1024 * 1024;
/// Requests of one client at once.
const MAX_RUNNING: usize = 64;
/// Clients at once.
const MAX_CLIENTS: usize = 256;

/// The control socket of this hub; gone when dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    socket: PathBuf,
    mcp_socket: PathBuf,
    /// Invariant: whoever holds this lock owns the socket, so one that is left over is nobody's.
    lock: Arc<File>,
}

impl Listener {
    /// Makes the socket. One that a killed hub left behind is replaced.
    pub fn bind(place: &Place) -> Result<Self, ControlError> {
        place.prepare()?;
        let socket = place.socket.clone();
        let failed = |source| ControlError::Socket { path: socket.clone(), source };
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(place.lock_file())
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(ControlError::Taken),
            Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
        remove_file(&socket)?;
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Self { listener, socket, mcp_socket: place.mcp_socket(), lock: Arc::new(lock) })
    }

    /// The socket for MCP clients beside this one.
    ///
    /// Invariant: it belongs to whoever holds the lock, too, so one that is left over is replaced.
    pub fn mcp_socket(&self) -> Result<McpSocket, ControlError> {
        remove_file(&self.mcp_socket)?;
        McpSocket::bind(&self.mcp_socket, Some(self.lock.clone()))
    }

    /// Answers clients until `stop`.
    pub async fn serve(self, api: Api, stop: CancellationToken) {
        let clients = TaskTracker::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if is_ours(&stream) && clients.len() < MAX_CLIENTS => {
                    let (api, stop) = (api.clone(), stop.clone());
                    clients.spawn(async move {
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = talk(stream, &api) => {}
                        }
                    });
                }
                Ok(_) => tracing::warn!("a client of the control socket was turned away"),
                Err(error) => {
                    tracing::warn!(%error, "the control socket cannot accept clients");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        clients.close();
        clients.wait().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may be gone already, and there is nobody to tell.
        let _ = fs::remove_file(&self.socket);
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

/// Serves one client. When it goes away, what it asked for is dropped and so cancelled.
async fn talk(stream: UnixStream, api: &Api) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader, MAX_REQUEST);
    let mut running = FuturesUnordered::new();
    let mut unsent = Unsent::default();
    loop {
        tokio::select! {
            line = lines.next(), if running.len() < MAX_RUNNING => match line {
                Ok(Some(line)) => match Message::parse(line) {
                    Ok(Message::Request(request)) => running.push(api.answer(request)),
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

/// Answers on their way out.
#[derive(Debug, Default)]
struct Unsent {
    pieces: std::collections::VecDeque<bytes::Bytes>,
}

impl Unsent {
    fn add(&mut self, text: Rope) {
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
            bytes::Buf::advance(piece, count.min(piece.len()));
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
    }
}
