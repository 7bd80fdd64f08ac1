//! `toolbay stdio`: the hub as a server on stdin and stdout.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};
use tokio_util::task::TaskTracker;
use toolbay_control::{About, Api};
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::Host;
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

use super::serve::{control, serve_control};
use crate::{
    context::Context,
    error::CliError,
    hub::{self, Plan},
};

/// How long the last answers may take to be written.
const FLUSH: Duration = Duration::from_secs(2);

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    let plan = Plan::read(context)?;
    let host = plan.start(context);
    let api = Api::new(host.clone(), About { config: plan.config.clone(), url: None });
    let control = control(context, &plan);
    tokio::select! {
        done = offer(context, host) => done,
        () = serve_control(control, api, context) => Ok(()),
    }
}

/// Offers a host on stdin and stdout, and stops it at the end.
pub(super) async fn offer(context: &Context, host: Host) -> Result<(), CliError> {
    let options = GatewayOptions { task_key: context.env.task_key(), ..GatewayOptions::default() };
    let gateway = Gateway::new(host.clone(), options);
    let tasks = TaskTracker::new();
    let wire = connect(stdin()?, stdout()?, MAX_MESSAGE, &tasks);
    gateway.serve_wire(wire, context.stop.clone()).await;
    tasks.close();
    // A client that does not read its answers does not get them.
    let _ = tokio::time::timeout(FLUSH, tasks.wait()).await;
    hub::stop(&host).await;
    Ok(())
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Pipes and sockets without a thread in between; anything else (files, terminals) through tokio's.
fn stdin() -> io::Result<Reader> {
    let fd = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        Kind::Pipe => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        Kind::Socket => Box::new(socket(fd)?),
        Kind::Other => Box::new(tokio::io::stdin()),
    })
}

fn stdout() -> io::Result<Writer> {
    let fd = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(match kind(&fd)? {
        Kind::Pipe => Box::new(pipe::Sender::from_owned_fd(fd)?),
        Kind::Socket => Box::new(socket(fd)?),
        Kind::Other => Box::new(tokio::io::stdout()),
    })
}

enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: &OwnedFd) -> io::Result<Kind> {
    use std::os::unix::fs::FileTypeExt;
    let file_type = std::fs::File::from(fd.try_clone()?).metadata()?.file_type();
    Ok(match () {
        () if file_type.is_fifo() => Kind::Pipe,
        () if file_type.is_socket() => Kind::Socket,
        () => Kind::Other,
    })
}

/// Some clients (Node's `child_process`) give us sockets.
fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
