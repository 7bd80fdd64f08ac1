//! Noticing that a peer is gone though its connection stands, or that it does not read what it is sent.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, sleep},
};

/// The interval of pings. They also keep proxies from closing a quiet connection.
const PING: Duration = Duration::from_secs(15);
/// A peer that was silent for longer missed two of them.
const SILENT: Duration = Duration::from_millis(37_500);
/// Pongs that may wait to be written. A peer that sends more pings without taking the pongs is not read meanwhile.
const MAX_PONGS: usize = 64;

/// When the peer was last known to be there.
#[derive(Debug)]
pub(super) struct PeerActivity {
    felt: Mutex<Instant>,
    /// We do not read for now, so silence says nothing.
    is_deaf: AtomicBool,
    ping: Notify,
    /// Pings that arrived since everything was last written.
    pongs: AtomicUsize,
    flush: Notify,
    flushed: Notify,
}

impl PeerActivity {
    pub(super) fn new() -> Arc<Self> {
        let felt = Mutex::new(Instant::now());
        Arc::new(Self {
            felt,
            is_deaf: AtomicBool::new(false),
            ping: Notify::new(),
            pongs: AtomicUsize::new(0),
            flush: Notify::new(),
            flushed: Notify::new(),
        })
    }

    /// Records that a ping arrived. Waits for the writer while too many pongs are not written: a peer that does not take
    /// them is not read, and counts as silent.
    pub(super) async fn pinged(&self) {
        if self.pongs.fetch_add(1, Relaxed) < MAX_PONGS {
            return;
        }
        while self.pongs.load(Relaxed) > 0 {
            self.flush.notify_one();
            self.flushed.notified().await;
        }
    }

    /// Until the writer has to flush, because pongs wait.
    pub(super) async fn wants_flush(&self) {
        self.flush.notified().await;
    }

    /// Everything that waited is written.
    pub(super) fn flushed(&self) {
        if self.pongs.swap(0, Relaxed) >= MAX_PONGS {
            self.flushed.notify_one();
        }
    }

    /// Waits for something other than the peer, who must not suffer from it.
    pub(super) async fn without<T>(&self, other: impl Future<Output = T>) -> T {
        self.is_deaf.store(true, Relaxed);
        let done = other.await;
        self.touch();
        self.is_deaf.store(false, Relaxed);
        done
    }

    /// Until it is time for a ping.
    pub(super) async fn wants_ping(&self) {
        self.ping.notified().await;
    }

    /// Until the peer is dead; returns how long it was silent.
    pub(super) async fn stopped(&self) -> Duration {
        loop {
            sleep(PING).await;
            let silence = self.felt.lock().elapsed();
            if silence >= SILENT && !self.is_deaf.load(Relaxed) {
                return silence;
            }
            self.ping.notify_one();
        }
    }

    fn touch(&self) {
        *self.felt.lock() = Instant::now();
    }
}

/// A connection whose peer is watched, byte by byte: a long message on a slow line counts as activity, too.
#[derive(Debug)]
pub(super) struct ActivityStream<S> {
    stream: S,
    activity: Arc<PeerActivity>,
    /// The peer, or the line, took no more. If it takes more later, it is there.
    was_full: bool,
}

impl<S> ActivityStream<S> {
    pub(super) fn new(stream: S, activity: Arc<PeerActivity>) -> Self {
        Self { stream, activity, was_full: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ActivityStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.touch();
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ActivityStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        let was_full = std::mem::replace(&mut self.was_full, outcome.is_pending());
        if was_full && matches!(outcome, Poll::Ready(Ok(1..))) {
            self.activity.touch();
        }
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
