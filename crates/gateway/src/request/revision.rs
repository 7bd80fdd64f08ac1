//! The revision of a POST, and the rules of modern revisions.

use http::HeaderMap;
use toolbay_protocol::{
    ErrorCode, ErrorObject, MethodCall, Request, Revision, decode_string, header_params::HeaderParam, meta,
    method,
};

use crate::{
    error,
    listener::headers::{self, Unreadable, single},
    request::client::{check_identity, log_level},
};

/// The kind of revision that a request is written in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RequestRevision {
    Modern,
    /// The revision that the header names; 2025-03-26 when there is none.
    Legacy(Revision),
}

/// Decides by the header and by `_meta`.
pub(crate) fn revision_of(call: &MethodCall, headers: &HeaderMap) -> Result<RequestRevision, ErrorObject> {
    let header = single(headers, &headers::PROTOCOL_VERSION)
        .map_err(|Unreadable| mismatch("MCP-Protocol-Version is invalid"))?;
    if let Some(version) = call.meta(meta::PROTOCOL_VERSION) {
        // A difference between the two is reported before either is checked.
        let version = decode_string(&call.text[version.range()]);
        return match (header, version) {
            (Some(header), Some(version)) if header != version => {
                Err(mismatch(&format!("MCP-Protocol-Version says {header:?}, the body {version:?}")))
            }
            _ => Ok(RequestRevision::Modern),
        };
    }
    let Some(header) = header else { return Ok(RequestRevision::Legacy(Revision::HTTP_DEFAULT)) };
    match header.parse::<Revision>() {
        Ok(revision) if revision.features().has_sessions() => Ok(RequestRevision::Legacy(revision)),
        Ok(_) => Ok(RequestRevision::Modern),
        Err(_) => Err(error::unsupported_version(header)),
    }
}

/// Checks what every modern request must carry in `_meta`, on any transport.
pub(crate) fn check_meta(call: &MethodCall) -> Result<(), ErrorObject> {
    let version = call.meta(meta::PROTOCOL_VERSION).ok_or_else(|| missing_meta(meta::PROTOCOL_VERSION))?;
    let version = decode_string(&call.text[version.range()])
        .ok_or_else(|| bad_meta(meta::PROTOCOL_VERSION, "a string"))?;
    match version.parse::<Revision>() {
        Ok(revision) if revision.features().has_request_meta() => {}
        _ => return Err(error::unsupported_version(&version)),
    }
    let capabilities =
        call.meta(meta::CLIENT_CAPABILITIES).ok_or_else(|| missing_meta(meta::CLIENT_CAPABILITIES))?;
    if !call.bytes(capabilities).starts_with(b"{") {
        return Err(bad_meta(meta::CLIENT_CAPABILITIES, "an object"));
    }
    check_identity(call.meta(meta::CLIENT_INFO), Some(capabilities))?;
    if call.meta(meta::LOG_LEVEL).is_some() && log_level(call).is_none() {
        return Err(bad_meta(meta::LOG_LEVEL, "a log level"));
    }
    Ok(())
}

/// Headers mirror the body, so that those who look only at headers decide the same as we do.
pub(crate) fn check_headers(request: &Request, headers: &HeaderMap) -> Result<(), ErrorObject> {
    let call = &request.call;
    let version = call.meta(meta::PROTOCOL_VERSION).and_then(|span| decode_string(&call.text[span.range()]));
    check_header(
        headers,
        &headers::PROTOCOL_VERSION,
        version.as_deref().unwrap_or_default(),
        HeaderEncoding::Yes,
    )?;
    check_header(headers, &headers::METHOD, call.method(), HeaderEncoding::Yes)?;
    let name = match call.method() {
        method::TOOLS_CALL | method::PROMPTS_GET => call.string_param("name"),
        method::RESOURCES_READ => call.string_param("uri"),
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => call.string_param("taskId"),
        _ => None,
    };
    match name {
        Some(name) => check_header(headers, &headers::NAME, &name, HeaderEncoding::No),
        None => Ok(()),
    }
}

/// Parameters that a tool wants in headers must stand there exactly when the arguments have them.
pub(crate) fn check_params(
    request: &Request,
    mirrored: &[HeaderParam],
    headers: &HeaderMap,
) -> Result<(), ErrorObject> {
    let call = &request.call;
    let arguments = call.param("arguments").map_or(&b"{}"[..], |span| call.bytes(span));
    for param in mirrored {
        let name = param.header_name();
        let name = http::HeaderName::try_from(name.as_str())
            .map_err(|_| mismatch(&format!("there can be no header {name}")))?;
        let unreadable = |Unreadable| mismatch(&format!("the header {name} cannot be read"));
        let said = single(headers, &name).map_err(unreadable)?.map(headers::decode).transpose();
        let body = param.value_in(arguments).map_err(|why| mismatch(&format!("{name}: {why}")))?;
        match (said.map_err(unreadable)?, body) {
            (None, None) => {}
            (Some(header), Some(body)) if param.agree(&header, &body) => {}
            (Some(header), Some(body)) => {
                return Err(mismatch(&format!("the header {name} says {header:?}, the body {body:?}")));
            }
            (None, Some(_)) => return Err(mismatch(&format!("the header {name} is missing"))),
            (Some(_), None) => {
                return Err(mismatch(&format!("the arguments lack what the header {name} says")));
            }
        }
    }
    Ok(())
}

/// Whether a header's value is always as it stands.
#[derive(PartialEq)]
enum HeaderEncoding {
    Yes,
    No,
}

fn check_header(
    headers: &HeaderMap,
    name: &http::HeaderName,
    body: &str,
    plain: HeaderEncoding,
) -> Result<(), ErrorObject> {
    let unreadable = |Unreadable| mismatch(&format!("the header {name} cannot be read"));
    let value = single(headers, name).map_err(unreadable)?;
    let value = value.ok_or_else(|| mismatch(&format!("the header {name} is missing")))?;
    let meaning = if plain == HeaderEncoding::Yes {
        value.into()
    } else {
        headers::decode(value).map_err(unreadable)?
    };
    if meaning == body {
        return Ok(());
    }
    Err(mismatch(&format!("the header {name} says {meaning:?}, the body {body:?}")))
}

fn mismatch(message: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("header mismatch: {message}"))
}

fn missing_meta(key: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`params._meta` lacks `{key}`"))
}

fn bad_meta(key: &str, expected: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, format!("`params._meta[\"{key}\"]` must be {expected}"))
}
