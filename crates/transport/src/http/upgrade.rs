//! Connections that become something else.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Request, header};
use hyper::{body::Incoming, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::pace::{Requests, Running};

/// A connection after its last request, which asked for something else than HTTP.
#[derive(Debug)]
pub struct Taken {
    stream: TokioIo<Upgraded>,
    /// What is spoken now has limits of its own.
    _running: Option<Running>,
}

/// Takes over the connection of a request that asks for it. It is had once the request is answered with 101.
pub fn take_over(
    request: &mut Request<Incoming>,
) -> impl Future<Output = Result<Taken, hyper::Error>> + Send + 'static {
    let running = request.extensions_mut().remove::<Requests>().map(|requests| requests.begin());
    let upgraded = hyper::upgrade::on(request);
    async move { Ok(Taken { stream: TokioIo::new(upgraded.await?), _running: running }) }
}

/// Whether a request asks for another protocol.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

impl AsyncRead for Taken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Taken {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
