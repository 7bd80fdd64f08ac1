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
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::http::server::limits::{ActiveRequest, ActiveRequests};

/// A connection after its last request, which asked to upgrade it.
#[derive(Debug)]
pub struct UpgradedStream {
    stream: TokioIo<Upgraded>,
    /// Ends writing to a peer that does not read.
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    /// What is spoken now has limits of its own.
    _running: Option<ActiveRequest>,
}

/// Takes over the connection of a request that asks to upgrade it. It is available once the response 101 is sent. After
/// `cut`, nothing waits for the peer to read.
pub fn take_over(
    request: &mut Request<Incoming>,
    cut: CancellationToken,
) -> impl Future<Output = Result<UpgradedStream, hyper::Error>> + Send + 'static {
    let running = request.extensions_mut().remove::<ActiveRequests>().map(|requests| requests.begin());
    let upgraded = hyper::upgrade::on(request);
    async move {
        let cut = Box::pin(cut.cancelled_owned());
        Ok(UpgradedStream { stream: TokioIo::new(upgraded.await?), cut, _running: running })
    }
}

/// Whether a request asks for another protocol.
pub(crate) fn is_requested(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.cut.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
            written => written,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Pending => self.cut.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into())),
            flushed => flushed,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
