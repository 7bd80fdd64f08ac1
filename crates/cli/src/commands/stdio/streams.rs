//! Our own stdin and stdout.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

pub(in crate::commands) type BoxReader = Box<dyn AsyncRead + Send + Unpin>;
pub(in crate::commands) type BoxWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Pipes and sockets without a thread in between; anything else (files, terminals) through tokio's.
pub(in crate::commands) fn stdin() -> io::Result<BoxReader> {
    let fd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        StreamKind::Pipe => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        StreamKind::Socket => Box::new(socket(fd)?),
        StreamKind::Other => Box::new(tokio::io::stdin()),
    })
}

pub(in crate::commands) fn stdout() -> io::Result<BoxWriter> {
    let fd = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        StreamKind::Pipe => Box::new(pipe::Sender::from_owned_fd(fd)?),
        StreamKind::Socket => Box::new(socket(fd)?),
        StreamKind::Other => Box::new(tokio::io::stdout()),
    })
}

enum StreamKind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: &OwnedFd) -> io::Result<StreamKind> {
    use std::os::unix::fs::FileTypeExt;
    let file_type = std::fs::File::from(fd.try_clone()?).metadata()?.file_type();
    Ok(match () {
        () if file_type.is_fifo() => StreamKind::Pipe,
        () if file_type.is_socket() => StreamKind::Socket,
        () => StreamKind::Other,
    })
}

/// Some clients (Node's `child_process`) give us sockets.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
