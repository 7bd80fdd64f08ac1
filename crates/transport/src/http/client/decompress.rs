//! Bodies of responses, with their compression taken off.

use std::{
    error::Error,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http::{HeaderMap, HeaderValue, header::CONTENT_ENCODING};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

/// The encodings that we support, as `Accept-Encoding`.
pub(super) const UNDERSTOOD: HeaderValue = HeaderValue::from_static("gzip, br");
/// How much is unpacked at once. The reader counts what it holds, so a small body that unpacks to gigabytes ends at
/// the limit for messages.
const PIECE: usize = 16 * 1024;

/// The body of a response as its server meant it.
pub(crate) enum DecompressedBody {
    /// Sent as it is.
    Plain(Incoming),
    /// Unpacked piece by piece, each as soon as it is there, so that events arrive when they are sent.
    Packed(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>),
}

impl DecompressedBody {
    /// Removes the encoding that the headers name; the error names one that was not requested.
    pub(crate) fn new(headers: &HeaderMap, body: Incoming) -> Result<Self, String> {
        let encoding = headers.get(CONTENT_ENCODING).map_or(&b""[..], HeaderValue::as_bytes);
        let encoding = String::from_utf8_lossy(encoding).trim().to_ascii_lowercase();
        if matches!(encoding.as_str(), "" | "identity") {
            return Ok(Self::Plain(body));
        }
        let packed = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
        match encoding.as_str() {
            "gzip" | "x-gzip" => {
                let mut decoder = GzipDecoder::new(packed);
                decoder.multiple_members(true); // a file may be several, one after the other
                Ok(Self::packed(decoder))
            }
            "br" => Ok(Self::packed(BrotliDecoder::new(packed))),
            _ => Err(encoding),
        }
    }

    fn packed(decoder: impl AsyncRead + Send + 'static) -> Self {
        Self::Packed(Box::pin(ReaderStream::with_capacity(decoder, PIECE)))
    }
}

impl http_body::Body for DecompressedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Plain(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
            Self::Packed(pieces) => {
                pieces.as_mut().poll_next(context).map_ok(Frame::data).map_err(Into::into)
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Plain(body) => body.size_hint(),
            Self::Packed(_) => SizeHint::default(),
        }
    }
}
