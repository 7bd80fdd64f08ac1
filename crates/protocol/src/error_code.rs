//! JSON-RPC and MCP error codes.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// The request names a revision that we do not speak.
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
    /// A page must be visited first; 2025-11-25 only.
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);

    /// Whether only a server of the stateless era sends this code.
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
