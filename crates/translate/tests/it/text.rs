//! Messages from text and back.

use bytes::Bytes;
use toolbay_protocol::{Message, Request, RequestId, Response, Revision};
use toolbay_translate::translate_response;

pub(crate) fn request(text: &str) -> Box<Request> {
    match Message::parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Message::Request(request)) => request,
        other => panic!("{text}: {other:?}"),
    }
}

pub(crate) fn response(text: &str) -> Box<Response> {
    match Message::parse(Bytes::copy_from_slice(text.as_bytes())) {
        Ok(Message::Response(response)) => response,
        other => panic!("{text}: {other:?}"),
    }
}

/// What a client gets under its id `"c"`.
pub(crate) fn got(said: &str, method: &str, from: Revision, to: Revision) -> String {
    let id = RequestId::from_raw(b"\"c\"").unwrap();
    let rope = translate_response(&response(said), &id, method, from, to);
    String::from_utf8(rope.into_bytes().into()).unwrap()
}

/// As [`got`], for the outcome alone: `"result":…` or `"error":…`.
pub(crate) fn outcome(said: &str, method: &str, from: Revision, to: Revision) -> String {
    let text = got(&format!(r#"{{"jsonrpc":"2.0","id":7,{said}}}"#), method, from, to);
    let inner = text.strip_prefix(r#"{"jsonrpc":"2.0","id":"c","#).and_then(|rest| rest.strip_suffix('}'));
    inner.unwrap_or_else(|| panic!("{text}")).to_owned()
}
