//! Why a connection ended, and its close frame.

use std::{sync::Arc, time::Duration};

use tokio_tungstenite::tungstenite::{
    Error, Utf8Bytes,
    error::{CapacityError, ProtocolError},
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use crate::http::client::{HttpError, error::reason};

/// How a connection ended.
#[derive(Debug)]
pub(super) enum CloseReason {
    /// Our end was dropped, and what was queued is sent.
    Left,
    /// The peer closed it, perhaps with a reason.
    Closed(Option<CloseFrame>),
    /// The peer sent a message that is too long.
    TooLong,
    /// The peer sent something that is no WebSocket, or no UTF-8.
    Garbled { code: CloseCode, reason: String },
    /// The connection broke.
    Broken(String),
    /// Nothing was received for so long.
    Silent(Duration),
}

impl CloseReason {
    /// The peer sent bytes, and a message is a text.
    pub(super) fn unsupported() -> Self {
        Self::Garbled { code: CloseCode::Unsupported, reason: "a message is binary, not text".to_owned() }
    }

    /// Returns our close frame; nothing where the peer closed first or is gone.
    pub(super) fn close_frame(&self, max_message: usize) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Left => (CloseCode::Normal, Utf8Bytes::default()),
            Self::TooLong => {
                (CloseCode::Size, format!("a message is longer than {max_message} bytes").into())
            }
            Self::Garbled { code, reason } => {
                // A close frame holds 123 bytes of reason.
                (*code, reason.chars().take(60).filter(char::is_ascii).collect::<String>().into())
            }
            Self::Closed(_) | Self::Broken(_) | Self::Silent(_) => return None,
        };
        Some(CloseFrame { code, reason })
    }

    /// The error for requests that wait for a response.
    pub(super) fn why(self, url: &Arc<str>, max_message: usize) -> HttpError {
        let url = url.clone();
        match self {
            Self::Left => HttpError::Closed { url, reason: "we ended it".to_owned() },
            Self::Closed(frame) => HttpError::Closed { url, reason: close_text(frame) },
            Self::TooLong => HttpError::TooLong { url, limit: max_message },
            Self::Garbled { reason, .. } => HttpError::Garbled { url, reason },
            Self::Broken(reason) => HttpError::Broken { url, reason },
            Self::Silent(after) => HttpError::Silent { url, after },
        }
    }
}

impl From<Error> for CloseReason {
    fn from(error: Error) -> Self {
        match error {
            Error::ConnectionClosed | Error::AlreadyClosed => Self::Closed(None),
            Error::Capacity(CapacityError::MessageTooLong { .. }) => Self::TooLong,
            Error::Utf8(_) => {
                Self::Garbled { code: CloseCode::Invalid, reason: "a text is not UTF-8".to_owned() }
            }
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                Self::Broken("it ended without a close frame".to_owned())
            }
            Error::WriteBufferFull(_) => Self::Broken("it does not read its messages".to_owned()),
            Error::Protocol(error) => Self::Garbled { code: CloseCode::Protocol, reason: error.to_string() },
            other => Self::Broken(reason(&other)),
        }
    }
}

/// The code of a close frame, its meaning, and what the peer added.
fn close_text(frame: Option<CloseFrame>) -> String {
    let Some(CloseFrame { code, reason }) = frame else { return "it did not say why".to_owned() };
    let meaning = match u16::from(code) {
        1000 => "done",
        1001 => "going away",
        1002 => "protocol error",
        1003 => "unsupported data",
        1007 => "a text was not UTF-8",
        1008 => "against its policy",
        1009 => "a message was too long for it",
        1011 => "internal error",
        1012 => "restarting",
        1013 => "try again later",
        _ => "a code of its own",
    };
    let code = u16::from(code);
    if reason.is_empty() {
        format!("code {code}, {meaning}")
    } else {
        format!("code {code}, {meaning}: {reason}")
    }
}
