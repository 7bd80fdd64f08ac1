//! Messages that we write ourselves.

use std::fmt;

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use crate::{
    ErrorObject, Message, ObjectBuilder, ParseError, RequestId, encode_string, json::rope::on_one_line,
    method,
};

/// Messages as values, for programs that bring their own transport or server. Null as `params` means none.
impl Message {
    /// A request.
    ///
    /// # Errors
    ///
    /// When `params` are neither an object nor null, or the id is too long.
    pub fn request(id: impl Into<RequestId>, method: &str, params: Value) -> Result<Self, ParseError> {
        Self::parse(request(&id.into(), method, written(&params).as_deref()))
    }

    /// A notification.
    ///
    /// # Errors
    ///
    /// When `params` are neither an object nor null.
    pub fn notification(method: &str, params: Value) -> Result<Self, ParseError> {
        Self::parse(notification(method, written(&params).as_deref()))
    }

    /// A response with a result.
    ///
    /// # Errors
    ///
    /// When the id is too long.
    pub fn result(id: impl Into<RequestId>, value: Value) -> Result<Self, ParseError> {
        Self::parse(result(&id.into(), &value.to_string()))
    }

    /// A response with an error.
    ///
    /// # Errors
    ///
    /// When the id is too long.
    pub fn error(id: impl Into<RequestId>, why: &ErrorObject) -> Result<Self, ParseError> {
        Self::parse(error(Some(&id.into()), why))
    }
}

fn written(params: &Value) -> Option<String> {
    (!params.is_null()).then(|| params.to_string())
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.text()))
    }
}

/// A request; `params` is JSON text.
pub fn request(id: &RequestId, method: &str, params: Option<&str>) -> Bytes {
    let id = id.as_raw();
    let method = encode_string(method);
    join(&[
        "{\"jsonrpc\":\"2.0\",\"id\":",
        id,
        ",\"method\":",
        &method,
        if params.is_some() { ",\"params\":" } else { "" },
        params.unwrap_or(""),
        "}",
    ])
}

/// A notification; `params` is JSON text.
pub fn notification(method: &str, params: Option<&str>) -> Bytes {
    let method = encode_string(method);
    join(&[
        "{\"jsonrpc\":\"2.0\",\"method\":",
        &method,
        if params.is_some() { ",\"params\":" } else { "" },
        params.unwrap_or(""),
        "}",
    ])
}

/// The notification that cancels a request.
pub fn cancelled(id: &RequestId, reason: Option<&str>) -> Bytes {
    let mut params = ObjectBuilder::new().raw("requestId", id.as_raw());
    if let Some(reason) = reason {
        params = params.string("reason", reason);
    }
    notification(method::CANCELLED, Some(&params.finish()))
}

/// A response with a result; `result` is JSON text.
pub fn result(id: &RequestId, result: &str) -> Bytes {
    join(&["{\"jsonrpc\":\"2.0\",\"id\":", id.as_raw(), ",\"result\":", result, "}"])
}

/// A response with an error; without an id when the request's could not be read.
pub fn error(id: Option<&RequestId>, error: &ErrorObject) -> Bytes {
    let body = serde_json::to_string(error).expect("an error object always serialises");
    join(&["{\"jsonrpc\":\"2.0\",\"id\":", id.map_or("null", RequestId::as_raw), ",\"error\":", &body, "}"])
}

/// The parts on one line: raw values may have been written on several.
fn join(parts: &[&str]) -> Bytes {
    let mut text = BytesMut::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        text.extend_from_slice(part.as_bytes());
    }
    on_one_line(text.freeze())
}
