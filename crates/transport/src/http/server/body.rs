//! Bodies of requests and responses.

use std::{
    convert::Infallible,
    error::Error,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use smallvec::SmallVec;
use toolbay_protocol::Rope;

/// The body of a response.
#[expect(missing_debug_implementations, reason = "a stream of futures shows nothing")]
pub enum Body {
    /// Known in full: what is left of it, the next piece last.
    Full(SmallVec<[Bytes; 1]>),
    /// Made text by text, with what is left of the newest; dropped when the client goes away.
    Stream(Pin<Box<dyn Stream<Item = Rope> + Send>>, SmallVec<[Bytes; 1]>),
}

impl Body {
    /// No body at all.
    pub fn empty() -> Self {
        Self::Full(Default::default())
    }

    /// A body known in full.
    pub fn full(text: impl Into<Rope>) -> Self {
        Self::Full(last_first(text.into()))
    }

    /// A body that is made piece by piece.
    pub fn stream(pieces: impl Stream<Item = Rope> + Send + 'static) -> Self {
        Self::Stream(Box::pin(pieces), Default::default())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Full(pieces) => Poll::Ready(pieces.pop().map(|piece| Ok(Frame::data(piece)))),
            Self::Stream(stream, pieces) => loop {
                if let Some(piece) = pieces.pop() {
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                match stream.as_mut().poll_next(context) {
                    Poll::Ready(Some(text)) => *pieces = last_first(text),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => return Poll::Pending,
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(pieces) => SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Self::Stream(..) => SizeHint::default(),
        }
    }
}

fn last_first(text: Rope) -> SmallVec<[Bytes; 1]> {
    let mut pieces: SmallVec<[Bytes; 1]> = text.into_pieces().collect();
    pieces.reverse();
    pieces
}

/// Why the body of a request could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadBodyError {
    /// Longer than allowed.
    #[error("the body is longer than {limit} bytes")]
    TooLong { limit: usize },
    /// Too slow.
    #[error("the body did not arrive within {} s", limit.as_secs())]
    TooSlow { limit: Duration },
    /// The connection broke.
    #[error("the body ended early")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

/// Bodies up to this length do not stay where they were read to.
const COPIED: usize = 4 * 1024;

/// Reads a whole body, never holding more than `limit` bytes.
pub async fn read_body<B>(mut body: B, limit: usize, within: Duration) -> Result<Bytes, ReadBodyError>
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
{
    let expected = body.size_hint();
    if expected.lower() > limit as u64 {
        return Err(ReadBodyError::TooLong { limit });
    }
    let mut first = None;
    let mut joined = BytesMut::new();
    let read = async {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| ReadBodyError::Broken(error.into()))?.into_data() else {
                continue;
            };
            let length = joined.len() + first.as_ref().map_or(0, Bytes::len) + data.len();
            if length > limit {
                return Err(ReadBodyError::TooLong { limit });
            }
            // Most bodies are one piece, which is then the text itself.
            if first.is_none() && joined.is_empty() {
                first = Some(data);
                continue;
            }
            if let Some(head) = first.take() {
                joined.reserve((expected.lower() as usize).max(length));
                joined.extend_from_slice(&head);
            }
            joined.extend_from_slice(&data);
        }
        Ok(())
    };
    // Most bodies are here already: then there is no need for a timer.
    tokio::pin!(read);
    if let Some(outcome) = (&mut read).now_or_never() {
        outcome?;
    } else {
        match tokio::time::timeout(within, read).await {
            Ok(outcome) => outcome?,
            Err(_) => return Err(ReadBodyError::TooSlow { limit: within }),
        }
    }
    Ok(match first {
        // What is small is copied: a piece of the connection's buffer keeps the whole, and then there is a new one for
        // every request.
        Some(piece) if piece.len() <= COPIED => Bytes::copy_from_slice(&piece),
        Some(piece) => piece,
        None => joined.freeze(),
    })
}

/// One event that carries a message. The message is put on one line, so it cannot forge a second event.
pub fn event(message: Rope) -> Rope {
    let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
    pieces.push(Bytes::from_static(b"event: message\ndata: "));
    pieces.extend(message.on_one_line().into_pieces());
    pieces.push(Bytes::from_static(b"\n\n"));
    Rope::from_pieces(pieces)
}

/// As [`event`], under an id with which a client can come back.
pub fn numbered_event(id: &str, message: Rope) -> Rope {
    let mut pieces: SmallVec<[Bytes; 8]> = SmallVec::new();
    pieces.push(format!("id: {id}\n").into());
    pieces.extend(event(message).into_pieces());
    Rope::from_pieces(pieces)
}

/// An event without a message: an id to come back with, and how long to wait before that.
pub fn priming_event(id: &str, retry: Duration) -> Rope {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// A comment that keeps proxies from closing a quiet stream.
pub fn keep_alive() -> Rope {
    Bytes::from_static(b":\n\n").into()
}
