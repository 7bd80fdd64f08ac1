//! Streams of events that the client of a session can resume.
//!
//! A connection may break at any time, and that cancels nothing (specification up to 2025-11-25). So what a stream
//! tells is made by a small task of its own and kept here for a while, numbered; the connection only
//! reads. A client that reconnects with the id of the last event it saw reads on from there, on that stream and no
//! other.
//!
//! ```text
//! ClientCall, SessionStream ─task─▶ Stream (kept events) ─▶ Reader ─▶ body of the response
//!                              ▲ no reader for 60 s: it ends, and so does the call
//! ```

mod stream;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, atomic::AtomicUsize},
};

use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_protocol::Rope;

use self::stream::ReplayStream;
pub(crate) use self::stream::StreamReader;
use crate::{
    request::{
        call::{CallStep, ClientCall},
        subscription::SessionStream,
    },
    session::Session,
};

/// How many streams of one session are open; further ones cannot be resumed.
const MAX_STREAMS: usize = 256;
/// How many that were read to their end are kept besides, in case what was sent was lost.
const MAX_READ: usize = 8;
const MAX_READ_BYTES: usize = 4 * 1024 * 1024;
/// How many that have ended wait for clients which were away.
const MAX_UNREAD: usize = 64;
const MAX_UNREAD_BYTES: usize = 16 * 1024 * 1024;

/// The streams of one session.
#[derive(Debug, Default)]
pub(crate) struct ReplayStreams {
    inner: Mutex<Inner>,
    /// What all of them keep.
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    open: HashMap<u64, Arc<ReplayStream>>,
    /// Those that have ended, oldest first; they are still in `open`.
    ended: VecDeque<Arc<ReplayStream>>,
}

/// What a stream tells.
pub(crate) enum StreamSource {
    /// The events of a request and its response, from the first event on.
    Request(ClientCall, Option<Rope>),
    /// What belongs to no request, until another stream takes its place.
    Changes(SessionStream, CancellationToken),
}

/// A stream that cannot be opened; its source.
pub(crate) struct TooManyStreams(pub(crate) StreamSource);

/// What a client that names the last event it saw resumes.
pub(crate) enum ResumedStream {
    /// The rest of that stream.
    Rest(StreamReader),
    /// A stream of changes that is no longer kept: a new one does as well.
    NewChanges,
    /// Nothing: it was too long ago, or never.
    Nothing,
}

impl ReplayStreams {
    /// Starts a stream on `tasks`. It ends with its session at the latest, and after `stop` waits for no client.
    pub(crate) fn open(
        self: &Arc<Self>,
        source: StreamSource,
        session: &Session,
        stop: CancellationToken,
        tasks: &TaskTracker,
    ) -> Result<StreamReader, TooManyStreams> {
        let mut inner = self.inner.lock();
        if inner.open.len() >= MAX_STREAMS {
            return Err(TooManyStreams(source));
        }
        inner.last += 1;
        let number = inner.last;
        let is_changes = matches!(source, StreamSource::Changes(..));
        let stream = Arc::new(ReplayStream::new(number, is_changes, self.bytes.clone()));
        inner.open.insert(number, stream.clone());
        drop(inner);
        if session.revision.features().has_priming_events() {
            stream.prime();
        }
        let reader = StreamReader::attach(stream.clone(), 0);
        let (streams, ended) = (self.clone(), session.ended.clone());
        tasks.spawn(async move {
            let nobody_returns = async {
                stop.cancelled().await;
                stream.left().await;
            };
            tokio::select! {
                () = send(&stream, source, &stop) => {}
                () = stream.abandoned() => {}
                () = nobody_returns => {}
                () = ended.cancelled() => {}
            }
            stream.end();
            streams.keep_ended(&stream);
            // For a client that missed the end.
            tokio::select! {
                () = stream.forgotten() => {}
                () = stop.cancelled() => {}
                () = ended.cancelled() => {}
            }
            let mut streams = streams.inner.lock();
            streams.open.remove(&number);
            streams.ended.retain(|other| !Arc::ptr_eq(other, &stream));
        });
        Ok(reader)
    }

    /// Comes back to the stream of an event.
    pub(crate) fn resume(&self, last_event: &str) -> ResumedStream {
        let Some((number, event, is_changes)) = stream::parse(last_event) else {
            return ResumedStream::Nothing;
        };
        let stream = self.inner.lock().open.get(&number).cloned();
        match stream {
            Some(stream) if stream.is_changes() == is_changes => {
                ResumedStream::Rest(StreamReader::attach(stream, event))
            }
            _ if is_changes => ResumedStream::NewChanges,
            _ => ResumedStream::Nothing,
        }
    }

    /// Keeps a stream that has ended, and forgets what is too much then: the oldest first, but those that were read
    /// before any that was not.
    fn keep_ended(&self, stream: &Arc<ReplayStream>) {
        let mut inner = self.inner.lock();
        inner.ended.push_back(stream.clone());
        let (mut read, mut read_bytes, mut unread, mut unread_bytes) = (0, 0, 0, 0);
        for stream in inner.ended.iter().rev() {
            let (was_read, bytes) = stream.read();
            let is_too_much = if was_read {
                read += 1;
                read_bytes += bytes;
                read > MAX_READ || read_bytes > MAX_READ_BYTES
            } else {
                unread += 1;
                unread_bytes += bytes;
                unread > MAX_UNREAD || (unread > 1 && unread_bytes > MAX_UNREAD_BYTES)
            };
            if is_too_much {
                stream.forget();
            }
        }
    }
}

/// Puts all that a source tells into a stream. Dropping this drops the source, which cancels a call.
async fn send(stream: &ReplayStream, source: StreamSource, stop: &CancellationToken) {
    match source {
        StreamSource::Request(mut call, first) => {
            if let Some(first) = first {
                stream.push(first);
            }
            loop {
                match call.next().await {
                    CallStep::Event(text) => stream.push(text),
                    CallStep::Final(known) => return stream.push(known.text),
                }
            }
        }
        StreamSource::Changes(mut changes, replaced) => {
            let all = async {
                while let Some(text) = changes.next().await {
                    stream.push(text);
                }
            };
            tokio::select! {
                () = all => {}
                () = replaced.cancelled() => {}
                () = stop.cancelled() => {}
            }
        }
    }
}
