//! How long a client may keep a connection waiting.
//!
//! hyper has one timer, from the end of a request to the end of the next head. So it cannot tell a client that rests
//! between requests, which is welcome, from one that sends its head byte by byte, which is not. Here the time of a head
//! counts from its first byte, and rest has a limit of its own. Besides, hyper waits for ever for a client that does not
//! read what it is sent.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// The preface of a client of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long may be waited for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionTimeouts {
    /// For the first byte of a connection, and for the rest of a head whose beginning is here.
    pub(crate) head: Duration,
    /// For the next request; on HTTP/2, for anything at all.
    pub(crate) idle: Duration,
    /// For the client to take the next byte that we send.
    pub(crate) standstill: Duration,
}

/// How many requests of a connection run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveRequests(Arc<AtomicUsize>);

/// A request that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct ActiveRequest(ActiveRequests);

impl ActiveRequests {
    pub(crate) fn begin(&self) -> ActiveRequest {
        self.0.fetch_add(1, Relaxed);
        ActiveRequest(self.clone())
    }

    fn run(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// A stream that fails when the client takes too long.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    pace: ConnectionTimeouts,
    requests: ActiveRequests,
    waiting: WaitState,
    /// How much of the preface of HTTP/2 has come; nothing once it cannot be that.
    preface: Option<usize>,
    /// When a head began, or when the client last took something, or a frame came.
    since: Instant,
    /// Fires no later than the wait ends, and then is set anew; so it need not be set for every request.
    timer: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitState {
    /// For the next request.
    Rest,
    /// For the end of a head, the beginning of which has just come.
    NewHead,
    /// For the end of a head, or for its beginning on a new connection.
    Head,
    /// For a frame of HTTP/2, which has pings.
    Frame,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, pace: ConnectionTimeouts, requests: ActiveRequests) -> Self {
        let since = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(since + pace.head.min(pace.idle)));
        Self { stream, pace, requests, waiting: WaitState::Head, preface: Some(0), since, timer, stuck: None }
    }

    fn took(&mut self, bytes: &[u8]) {
        if let Some(known) = self.preface {
            let expected = &PREFACE[known..];
            let length = expected.len().min(bytes.len());
            self.preface = (bytes[..length] == expected[..length]).then_some(known + length);
            if self.preface == Some(PREFACE.len()) {
                (self.preface, self.waiting) = (None, WaitState::Frame);
            }
        }
        match self.waiting {
            WaitState::Frame => self.since = Instant::now(),
            WaitState::Rest if !self.requests.run() => self.waiting = WaitState::NewHead,
            WaitState::Rest | WaitState::NewHead | WaitState::Head => {} // more of a head, or the body of a request
        }
    }

    /// Fails when the client has kept us waiting for too long.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.waiting == WaitState::NewHead && !self.requests.run() {
            (self.waiting, self.since) = (WaitState::Head, Instant::now());
            if self.timer.deadline() > self.deadline() {
                let deadline = self.deadline();
                self.timer.as_mut().reset(deadline);
            }
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            let deadline = if self.requests.run() { now + self.pace.idle } else { self.deadline() };
            if deadline <= now {
                return Poll::Ready(too_slow("the client timed out"));
            }
            self.timer.as_mut().reset(deadline);
        }
    }

    fn deadline(&self) -> Instant {
        self.since + if self.waiting == WaitState::Head { self.pace.head } else { self.pace.idle }
    }
}

fn too_slow(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Pending => self.poll_wait(context).map(Err),
            read => {
                self.took(&buffer.filled()[before..]);
                read
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_write(context, bytes) {
            Poll::Pending => {
                let standstill = this.pace.standstill;
                let stuck = this.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(standstill)));
                ready!(stuck.as_mut().poll(context));
                tracing::warn!(
                    "a client has read nothing for {} s; closing its connection",
                    standstill.as_secs()
                );
                Poll::Ready(Err(too_slow("the client does not read")))
            }
            written => {
                this.stuck = None;
                this.since = Instant::now();
                if this.waiting != WaitState::Frame {
                    this.waiting = WaitState::Rest; // it takes a response, so its head was complete
                }
                written
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of a response, with the request that runs until it is over.
pub(crate) struct TrackedBody<B> {
    body: B,
    _running: ActiveRequest,
}

impl<B> TrackedBody<B> {
    pub(crate) fn new(body: B, running: ActiveRequest) -> Self {
        Self { body, _running: running }
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
