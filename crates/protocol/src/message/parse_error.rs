//! Why a text is not a message we accept.

use crate::ErrorCode;

/// What is wrong with a text that should have been a JSON-RPC message.
///
/// Nothing ambiguous is ever resolved silently: two readers that disagree about which of two keys counts are how a
/// policy gets bypassed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The bytes are not UTF-8.
    #[error("not valid UTF-8 at byte {at}")]
    Utf8 { at: usize },
    /// Not JSON.
    #[error("not valid JSON at byte {at}")]
    Syntax { at: usize },
    /// JSON that ends too early.
    #[error("unexpected end of JSON")]
    Truncated,
    /// Containers nested over [`crate::MAX_DEPTH`].
    #[error("JSON nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// Longer than any message may be.
    #[error("message is longer than {limit} bytes")]
    TooLong { limit: usize },
    /// A JSON value that is no object.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// An array where this revision knows no batches.
    #[error("batches exist only in revision 2025-03-26")]
    Batch,
    /// A batch of too many messages.
    #[error("a batch may contain at most {limit} messages")]
    LongBatch { limit: usize },
    /// `jsonrpc` is missing or not `"2.0"`.
    #[error("`jsonrpc` must be \"2.0\"")]
    Version,
    /// A key that stands twice.
    #[error("duplicate key `{key}` in `{object}`")]
    DuplicateKey { object: &'static str, key: String },
    /// A key that differs from a known one in case only.
    #[error("the key `{key}` in `{object}` differs from `{known}` only in case")]
    CaseVariant { object: &'static str, key: String, known: &'static str },
    /// `id` is neither string nor number.
    #[error("`id` must be a string or a number")]
    BadId,
    /// `method` is not a string.
    #[error("`method` must be a string")]
    BadMethod,
    /// `params` is not an object.
    #[error("`params` must be an object")]
    BadParams,
    /// `error` lacks `code` or `message`.
    #[error("`error` must be an object with `code` and `message`")]
    BadError,
    /// Neither request, notification nor response.
    #[error("a message has either `method`, or `id` with one of `result` and `error`")]
    NoKind,
}

impl ParseError {
    /// The JSON-RPC error code that tells the sender.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Utf8 { .. } | Self::Syntax { .. } | Self::Truncated | Self::TooDeep => {
                ErrorCode::PARSE_ERROR
            }
            Self::BadParams => ErrorCode::INVALID_PARAMS,
            _ => ErrorCode::INVALID_REQUEST,
        }
    }
}
