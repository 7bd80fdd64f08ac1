//! Which revisions a server speaks, and which one a request does.

use serde_json::json;
use toolbay_protocol::{ErrorCode, ErrorObject, Request, Revision, decode_string, meta, method};

use super::session::Session;

/// Which clients a test server understands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum SupportedRevisions {
    /// Those that shake hands, up to 2025-11-25.
    Legacy,
    /// Those of 2026-07-28, without a handshake.
    Modern,
    /// All.
    #[default]
    Both,
}

/// The revisions that a server speaks; never none.
#[derive(Debug, Clone)]
pub(super) struct RevisionSet {
    /// Newest first.
    revisions: Vec<Revision>,
    /// Whether it supports only one and insists on it.
    pub(super) exact: bool,
}

impl RevisionSet {
    pub(super) fn new(supported: SupportedRevisions) -> Self {
        let speaks = |revision: &Revision| match supported {
            SupportedRevisions::Legacy => !revision.is_modern(),
            SupportedRevisions::Modern => revision.is_modern(),
            SupportedRevisions::Both => true,
        };
        Self { revisions: Revision::ALL.into_iter().rev().filter(speaks).collect(), exact: false }
    }

    pub(super) fn only(revision: Revision) -> Self {
        Self { revisions: vec![revision], exact: true }
    }

    /// Whether it understands requests without a handshake.
    pub(super) fn modern(&self) -> bool {
        self.revisions.iter().any(|revision| revision.is_modern())
    }

    /// Whether it understands a handshake.
    pub(super) fn legacy(&self) -> bool {
        self.revisions.iter().any(|revision| !revision.is_modern())
    }

    /// Returns the revision that a handshake for the version `asked` agrees on.
    pub(super) fn agreed(&self, asked: &str) -> Revision {
        let mut legacy = self.revisions.iter().copied().filter(|revision| !revision.is_modern());
        let newest = legacy.clone().next().unwrap_or(Revision::LATEST_LEGACY);
        legacy.find(|revision| revision.as_str() == asked).unwrap_or(newest)
    }

    /// As in messages, newest first.
    pub(super) fn versions(&self) -> Vec<&'static str> {
        self.revisions.iter().map(|revision| revision.as_str()).collect()
    }

    /// The revision of one request.
    pub(super) fn revision_of(&self, request: &Request, session: &Session) -> Result<Revision, ErrorObject> {
        let named = request.call.meta(meta::PROTOCOL_VERSION);
        match named {
            Some(span) if self.modern() => {
                let named = decode_string(&request.call.text[span.range()]).unwrap_or_default();
                match named.parse::<Revision>() {
                    Ok(revision) if revision.is_modern() => Ok(revision),
                    _ => Err(self.unsupported(&named)),
                }
            }
            _ => self.legacy_revision(request, session),
        }
    }

    fn legacy_revision(&self, request: &Request, session: &Session) -> Result<Revision, ErrorObject> {
        let asked = request.call.method();
        if !self.legacy() {
            let version = request.call.string_param("protocolVersion").unwrap_or_default();
            return Err(if asked == method::INITIALIZE { self.unsupported(&version) } else { no_meta() });
        }
        if asked == method::DISCOVER && self.modern() {
            return Err(no_meta());
        }
        let before = matches!(asked, method::INITIALIZE | method::PING | method::DISCOVER);
        match session.revision() {
            Some(revision) => Ok(revision),
            None if before => Ok(Revision::LATEST_LEGACY),
            None => Err(ErrorObject::new(ErrorCode::INVALID_REQUEST, "send `initialize` first")),
        }
    }

    fn unsupported(&self, requested: &str) -> ErrorObject {
        let supported = self.versions();
        let message = format!("Unsupported protocol version; this server speaks {}", supported.join(", "));
        ErrorObject::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, message)
            .with_data(&json!({"supported": supported, "requested": requested}))
    }
}

pub(super) fn no_meta() -> ErrorObject {
    let message = format!("`_meta` lacks `{}`", meta::PROTOCOL_VERSION);
    ErrorObject::new(ErrorCode::INVALID_PARAMS, message)
}
