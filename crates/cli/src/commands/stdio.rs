//! `toolbay stdio`: the hub as a server on stdin and stdout.
//!
//! Clients of the same configuration share one hub in the background, so that each server runs once. This process then only hands
//! on the lines of client and hub ([`relay`]).

mod lines;
mod link;
mod relay;
mod replay;

use std::{
    io::{self, IsTerminal},
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};
use tokio_util::task::TaskTracker;
use toolbay_gateway::{Gateway, GatewayOptions};
use toolbay_host::Host;
use toolbay_transport::stdio::{MAX_MESSAGE, connect};

use self::relay::Relay;
use super::serve::{exposure_options, operate::follow_if_any};
use crate::{
    app::{
        audit::HubAudit,
        code_mode,
        context::Context,
        cycle,
        error::CliError,
        hub::{self, HubPlan},
    },
    args::StdioArgs,
};

/// How long the last answers may take to be written.
pub(super) const FLUSH: Duration = Duration::from_secs(2);

pub(crate) async fn run(context: &Context, args: &StdioArgs) -> Result<(), CliError> {
    if std::io::stdin().is_terminal() {
        context.out.note(
            "This is an MCP server on stdio, to be started by MCP clients; it reads JSON-RPC messages, one per line. Press Ctrl-D to exit.",
        );
    }
    let mut plan = HubPlan::read(context)?;
    cycle::refuse(&plan.chain)?;
    // A server of another hub ends with that one, and so would a hub that it started.
    let may_share = plan.hub.shares() && !context.env.is_supervised();
    let options = plan.gateway_options(context)?;
    if !args.alone && may_share {
        return Relay::new(context, plan, args.exposure)?.run().await;
    }
    let audit = HubAudit::open(context, &plan)?.log;
    let host = plan.start(context);
    let configuration = plan.configuration.take();
    let options = GatewayOptions {
        audit,
        exposure: exposure_options(&plan.hub, args.exposure),
        code: code_mode::runner(context, &plan.hub),
        ..options
    };
    let gateway = Gateway::new(host.clone(), options);
    tokio::select! {
        done = serve(context, &gateway, &host) => done,
        () = follow_if_any(context, configuration, &host, Some(&gateway)) => Ok(()),
    }
}

/// Offers a host on stdin and stdout, and stops it at the end.
pub(super) async fn offer(context: &Context, host: Host, options: GatewayOptions) -> Result<(), CliError> {
    serve(context, &Gateway::new(host.clone(), options), &host).await
}

/// Serves the client on stdin and stdout, and stops the servers at the end.
async fn serve(context: &Context, gateway: &Arc<Gateway>, host: &Host) -> Result<(), CliError> {
    let tasks = TaskTracker::new();
    let wire = connect(stdin()?, stdout()?, MAX_MESSAGE, &tasks);
    gateway.serve_connection(wire, context.stop.clone()).await;
    tasks.close();
    // A client that does not read its answers does not get them.
    let _ = tokio::time::timeout(FLUSH, tasks.wait()).await;
    hub::stop(host).await;
    Ok(())
}

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
