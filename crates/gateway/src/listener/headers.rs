//! Header names and values of MCP over HTTP.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use toolbay_protocol::header_params::decode_header_value;

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The only value of a header; an error when there are several or it is not plain text.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Unreadable> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Unreadable);
    }
    value.to_str().map(Some).map_err(|_| Unreadable)
}

/// The comma-separated values of a header, over all of its lines.
pub(crate) fn comma_separated<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// A header that cannot be read without guessing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// What a mirrored value means: `=?base64?…?=` carries text that a header cannot.
pub(crate) fn decode(value: &str) -> Result<Cow<'_, str>, Unreadable> {
    decode_header_value(value).ok_or(Unreadable)
}
