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

/// What a client that speaks HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI";

/// How long may be waited for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// For the rest of a head whose beginning is here.
    pub(super) head: Duration,
    /// For anything at all, while no request runs.
    pub(super) rest: Duration,
    /// For the client to take the next byte that we send.
    pub(super) standstill: Duration,
}

/// How many requests of a connection run.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<AtomicUsize>);

/// A request that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Running(Requests);

impl Requests {
    pub(super) fn begin(&self) -> Running {
        self.0.fetch_add(1, Relaxed);
        Running(self.clone())
    }

    fn run(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// A stream that fails when the client takes too long.
#[derive(Debug)]
pub(super) struct Paced<S> {
    stream: S,
    pace: Pace,
    requests: Requests,
    waiting: Waiting,
    /// When a head began, or when the client last took something.
    since: Instant,
    /// Fires no later than the wait ends, and then is set anew; so it need not be set for every request.
    timer: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// For the very first byte.
    Start,
    /// For the next request.
    Rest,
    /// For the end of a head, the beginning of which has just come.
    NewHead,
    /// For the end of a head, `since` its first byte.
    Head,
    /// For nothing: there are always frames in HTTP/2, and it has pings.
    Nothing,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, pace: Pace, requests: Requests) -> Self {
        let since = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(since + pace.rest));
        Self { stream, pace, requests, waiting: Waiting::Start, since, timer, stuck: None }
    }

    fn took(&mut self, bytes: &[u8]) {
        if self.requests.run() {
            return; // it is the body of one
        }
        self.waiting = match self.waiting {
            Waiting::Start if bytes.starts_with(PREFACE) => Waiting::Nothing,
            Waiting::Start | Waiting::Rest => Waiting::NewHead,
            other => other,
        };
    }

    /// Fails when the client has kept us waiting for too long.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        if self.waiting == Waiting::Nothing {
            return Poll::Pending;
        }
        if self.waiting == Waiting::NewHead && !self.requests.run() {
            (self.waiting, self.since) = (Waiting::Head, Instant::now());
            if self.timer.deadline() > self.deadline() {
                let deadline = self.deadline();
                self.timer.as_mut().reset(deadline);
            }
        }
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            let deadline = if self.requests.run() { now + self.pace.rest } else { self.deadline() };
            if deadline <= now {
                return Poll::Ready(too_slow("the client took too long"));
            }
            self.timer.as_mut().reset(deadline);
        }
    }

    fn deadline(&self) -> Instant {
        self.since + if self.waiting == Waiting::Head { self.pace.head } else { self.pace.rest }
    }
}

fn too_slow(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, why)
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
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
                tracing::warn!("a client does not read what it is sent, and is dropped");
                Poll::Ready(Err(too_slow("the client does not read")))
            }
            written => {
                this.stuck = None;
                if this.waiting != Waiting::Nothing {
                    // It takes an answer, so its head was complete.
                    (this.waiting, this.since) = (Waiting::Rest, Instant::now());
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

/// The body of an answer, with the request that runs until it is over.
pub(super) struct Answered<B> {
    body: B,
    _running: Running,
}

impl<B> Answered<B> {
    pub(super) fn new(body: B, running: Running) -> Self {
        Self { body, _running: running }
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for Answered<B> {
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
