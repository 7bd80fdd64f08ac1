//! Headers that repeat what the body says.

use ::http::HeaderMap;
use toolbay_protocol::{ErrorCode, ErrorObject, Request, Revision, decode_string, meta, method};

use crate::test_server::revisions::no_meta;

pub(super) const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

pub(super) fn get<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the headers alone show that this is a request of a modern revision.
pub(super) fn names_modern(headers: &HeaderMap) -> bool {
    let revision = get(headers, VERSION).and_then(|version| version.parse().ok());
    revision.is_some_and(Revision::is_modern)
}

/// Whether the headers name the revision of a session, as far as that has to name it.
pub(super) fn names(headers: &HeaderMap, revision: Revision) -> bool {
    revision < Revision::V2025_06_18 || get(headers, VERSION) == Some(revision.as_str())
}

/// Checks that headers and body of a modern request agree.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), ErrorObject> {
    let call = &request.call;
    let version = call.meta(meta::PROTOCOL_VERSION).ok_or_else(no_meta)?;
    let version = decode_string(&call.text[version.range()]).unwrap_or_default();
    agree(headers, VERSION, &version)?;
    agree(headers, "mcp-method", call.method())?;
    let name = match call.method() {
        method::TOOLS_CALL | method::PROMPTS_GET => call.string_param("name"),
        method::RESOURCES_READ => call.string_param("uri"),
        _ => None,
    };
    // A name that no header can carry comes in Base64; such names are not checked.
    match name {
        Some(name) if name.bytes().all(|byte| byte.is_ascii_graphic()) => agree(headers, "mcp-name", &name),
        _ => Ok(()),
    }
}

fn agree(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), ErrorObject> {
    match get(headers, name) {
        Some(value) if value == expected => Ok(()),
        found => {
            let message = format!("the header `{name}` is {found:?}, the body says {expected:?}");
            Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, message))
        }
    }
}
