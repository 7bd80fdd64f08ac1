//! Errors: the codes of JSON-RPC and MCP, error objects, and why a text is not a message.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The `code` of a JSON-RPC error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// JSON, but no valid request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// No such method.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// Wrong parameters; since 2026-07-28 also "no such resource".
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// Our own fault, or that of a server behind us.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The first of the implementation-defined range.
    pub const SERVER_ERROR: Self = Self(-32000);
    /// No such resource, up to 2025-11-25.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// HTTP headers and body disagree.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client lacks a capability that the request needs.
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The request names a revision that is not supported.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// A page must be visited first; 2025-11-25 only.
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);

    /// Whether only a modern server sends this code.
    pub fn is_modern(self) -> bool {
        matches!(
            self,
            Self::HEADER_MISMATCH | Self::MISSING_CLIENT_CAPABILITY | Self::UNSUPPORTED_PROTOCOL_VERSION
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `error` of a JSON-RPC response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorObject {
    /// What kind of failure.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// More, for programs; kept as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = serde_json::value::to_raw_value(data).ok();
        self
    }
}

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
    /// An array, in a revision without batches.
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
    /// Returns the JSON-RPC error code that the sender gets.
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
