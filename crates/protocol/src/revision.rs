//! The dated revisions of the protocol, and what each of them has.

use std::{fmt, str::FromStr};

/// A revision of MCP; later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first one; HTTP+SSE.
    V2024_11_05,
    /// Streamable HTTP, and the only one with batches.
    V2025_03_26,
    /// Structured content, elicitation.
    V2025_06_18,
    /// The last one with a handshake.
    V2025_11_25,
    /// Stateless: every request carries what it needs.
    V2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The revision of HTTP requests that do not name one: the header is younger than Streamable HTTP.
    pub const HTTP_DEFAULT: Self = Self::V2025_03_26;

    /// Whether the revision is stateless. To decide what to do, ask its [`features`](Self::features).
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns what the revision has.
    pub fn features(self) -> ProtocolFeatures {
        ProtocolFeatures { revision: self }
    }

    /// Returns the date that names it in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A date that is not a known revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown protocol revision")]
pub struct UnknownRevision;

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == text).ok_or(UnknownRevision)
    }
}

/// What a revision has.
///
/// Code that behaves differently from revision to revision asks for the feature it is about. Which revisions have it is
/// written here only; how messages differ is the business of `translate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolFeatures {
    revision: Revision,
}

impl ProtocolFeatures {
    /// Client and server agree on a revision with `initialize`, and what they say then holds for a session. Otherwise every
    /// request stands alone.
    pub fn has_sessions(self) -> bool {
        !self.revision.is_modern()
    }

    /// Every request names its revision and its client in `_meta`.
    pub fn has_request_meta(self) -> bool {
        self.revision.is_modern()
    }

    /// A server introduces itself with `server/discover`.
    pub fn has_discover(self) -> bool {
        self.revision.is_modern()
    }

    /// `ping` exists.
    pub fn has_ping(self) -> bool {
        !self.revision.is_modern()
    }

    /// The level of log messages is set with `logging/setLevel`; later, requests name it.
    pub fn has_set_level(self) -> bool {
        !self.revision.is_modern()
    }

    /// Servers get input of a client by returning `input_required`, and the client sends its request again. Before, servers
    /// sent requests to clients.
    pub fn has_input_required(self) -> bool {
        self.revision.is_modern()
    }

    /// Results say with `resultType` what they are.
    pub fn wants_result_type(self) -> bool {
        self.revision.is_modern()
    }

    /// Lists and resources come with `ttlMs` and `cacheScope`.
    pub fn has_cache_hints(self) -> bool {
        self.revision.is_modern()
    }

    /// Results name the server in `_meta`.
    pub fn has_server_info_in_results(self) -> bool {
        self.revision.is_modern()
    }

    /// Changes are announced on streams that `subscriptions/listen` opens. Before, servers announced lists unasked, and
    /// resources after `resources/subscribe`.
    pub fn has_listen(self) -> bool {
        self.revision.is_modern()
    }

    /// Over HTTP, headers repeat what the body of a request says: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`.
    pub fn has_mirrored_headers(self) -> bool {
        self.revision.is_modern()
    }

    /// Over HTTP, the status of a response follows from its error.
    pub fn has_error_statuses(self) -> bool {
        self.revision.is_modern()
    }

    /// An unknown resource has an error code of its own.
    pub fn has_resource_not_found(self) -> bool {
        !self.revision.is_modern()
    }

    /// Several messages may be sent as one JSON array.
    pub fn has_batches(self) -> bool {
        self.revision == Revision::V2025_03_26
    }

    /// An event without data may open a stream, so that the client has an id to resume from. Older clients take every event
    /// for a message.
    pub fn has_priming_events(self) -> bool {
        self.revision >= Revision::V2025_11_25
    }

    /// Content blocks may be links to resources.
    pub fn has_resource_links(self) -> bool {
        self.revision >= Revision::V2025_06_18
    }

    /// Tasks are the experiment of 2025-11-25.
    pub fn has_experimental_tasks(self) -> bool {
        self.revision == Revision::V2025_11_25
    }

    /// Tasks are an extension, as of 2026-07-28.
    pub fn has_task_extension(self) -> bool {
        self.revision.is_modern()
    }
}
