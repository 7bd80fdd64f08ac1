//! Reading a message in one pass.

use bytes::Bytes;
use smallvec::SmallVec;

use super::{Message, Method, MethodCall, Notification, Outcome, Request, Response, check_text};
use crate::{
    ErrorObject, Field, Fields, ParseError, RequestId, Scanner, Span,
    json::{
        keys::{ENVELOPE, KeyChecker, PARAMS},
        string::{decode_inner, decode_string, is_escaped, key_is},
    },
    method,
};

/// The spans of an envelope, before its kind is known.
#[derive(Default)]
pub(super) struct Envelope {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Fields>,
    /// The `_meta` of `params`, or of the result when there are none.
    meta: Option<Fields>,
    result: Option<Fields>,
    error: Option<Span>,
    /// Whether there is a `result` that is no object.
    bad_result: bool,
    end: u32,
    multiline: bool,
    has_wide_numbers: bool,
}

impl Envelope {
    /// Fills in what stands in `text`. In place, because it is large.
    pub(super) fn scan(&mut self, text: &[u8]) -> Result<(), ParseError> {
        check_text(text)?;
        let mut scanner = Scanner::new(text);
        let kind = scanner.peek_kind()?;
        if kind != b'{' {
            scanner.value()?;
            scanner.end()?;
            return Err(if kind == b'[' { ParseError::Batch } else { ParseError::NotAnObject });
        }
        let mut guard = KeyChecker::new(text, &ENVELOPE);
        let span = scanner.object(|scanner, key| {
            match guard.check(key)? {
                Some("jsonrpc") => self.jsonrpc = Some(scanner.value()?),
                Some("id") => self.id = Some(scanner.value()?),
                Some("method") => self.method = Some(scanner.value()?),
                Some("error") => self.error = Some(scanner.value()?),
                Some("params") => {
                    if scanner.peek_kind()? != b'{' {
                        return Err(ParseError::BadParams);
                    }
                    self.meta = None;
                    let guard = KeyChecker::new(text, &PARAMS);
                    self.params = Some(fields(text, scanner, Some(guard), &mut self.meta)?);
                }
                Some("result") if scanner.peek_kind()? == b'{' => {
                    let mut meta = None;
                    self.result = Some(fields(text, scanner, None, &mut meta)?);
                    if self.params.is_none() {
                        self.meta = meta;
                    }
                }
                other => {
                    self.bad_result |= other == Some("result");
                    scanner.value()?;
                }
            }
            Ok(())
        })?;
        scanner.end()?;
        self.end = span.end - 1;
        self.multiline = scanner.saw_line_break();
        self.has_wide_numbers = scanner.saw_wide_number();
        Ok(())
    }

    pub(super) fn into_message(self, text: Bytes) -> Result<Message, ParseError> {
        let version = self.jsonrpc.and_then(|span| decode_string(&text[span.range()]));
        if version.as_deref() != Some("2.0") {
            return Err(ParseError::Version);
        }
        drop(version);
        if self.method.is_some() { self.into_call(text) } else { self.into_response(text) }
    }

    fn into_call(self, text: Bytes) -> Result<Message, ParseError> {
        let span = self.method.ok_or(ParseError::NoKind)?;
        if self.result.is_some() || self.bad_result || self.error.is_some() {
            return Err(ParseError::NoKind);
        }
        let method = match text[span.range()].strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
            None => return Err(ParseError::BadMethod),
            Some(inner) if inner.contains(&b'\\') => Method::Decoded(decode_inner(inner).into()),
            Some(inner) => match method::frequent(inner) {
                Some(method) => Method::Frequent(method),
                None => Method::Plain(Span { start: span.start + 1, end: span.end - 1 }),
            },
        };
        let call = MethodCall {
            method,
            params: self.params,
            meta: self.meta,
            end: self.end,
            multiline: self.multiline,
            has_wide_numbers: self.has_wide_numbers,
            text,
        };
        let Some(id_span) = self.id else {
            return Ok(Message::Notification(Box::new(Notification { call })));
        };
        let id = RequestId::from_scanned(&call.text[id_span.range()]).ok_or(ParseError::BadId)?;
        Ok(Message::Request(Box::new(Request { id, id_span, call })))
    }

    fn into_response(self, text: Bytes) -> Result<Message, ParseError> {
        if self.bad_result {
            return Err(ParseError::NoKind);
        }
        let outcome = match (self.result, self.error) {
            (Some(fields), None) => Outcome::Result { fields, meta: self.meta },
            (None, Some(span)) => {
                if serde_json::from_slice::<ErrorObject>(&text[span.range()]).is_err() {
                    return Err(ParseError::BadError);
                }
                Outcome::Error { span }
            }
            _ => return Err(ParseError::NoKind),
        };
        // An error may lack its id, or say null, when the request's id could not be read.
        let id_span = self.id.unwrap_or(Span { start: self.end, end: self.end });
        let raw = &text[id_span.range()];
        let id = if raw.is_empty() || raw == b"null" {
            if matches!(outcome, Outcome::Result { .. }) {
                return Err(ParseError::BadId);
            }
            None
        } else {
            Some(RequestId::from_scanned(raw).ok_or(ParseError::BadId)?)
        };
        let response = Response { id, id_span, outcome, multiline: self.multiline, text };
        Ok(Message::Response(Box::new(response)))
    }
}

/// The fields of `params` or `result`, with those of their `_meta` on the side. Only guarded keys must be unambiguous.
fn fields<'a>(
    text: &'a [u8],
    scanner: &mut Scanner<'a>,
    mut guard: Option<KeyChecker<'a>>,
    meta: &mut Option<Fields>,
) -> Result<Fields, ParseError> {
    let mut entries = SmallVec::new();
    let mut has_escapes = false;
    let span = scanner.object(|scanner, key| {
        if let Some(guard) = &mut guard {
            guard.check(key)?;
        }
        has_escapes |= is_escaped(&text[key.range()]);
        let value = if key_is(&text[key.range()], "_meta") && scanner.peek_kind()? == b'{' {
            let guard = guard.is_some().then(|| KeyChecker::new(text, &[]));
            let inner = plain_fields(text, scanner, guard)?;
            meta.insert(inner).span
        } else {
            scanner.value()?
        };
        entries.push(Field { key, value });
        Ok(())
    })?;
    Ok(Fields { span, entries, has_escapes })
}

/// The fields of any object.
pub(crate) fn plain_fields<'a>(
    text: &'a [u8],
    scanner: &mut Scanner<'a>,
    mut guard: Option<KeyChecker<'a>>,
) -> Result<Fields, ParseError> {
    let mut entries = SmallVec::new();
    let mut has_escapes = false;
    let span = scanner.object(|scanner, key| {
        if let Some(guard) = &mut guard {
            guard.check(key)?;
        }
        has_escapes |= is_escaped(&text[key.range()]);
        entries.push(Field { key, value: scanner.value()? });
        Ok(())
    })?;
    Ok(Fields { span, entries, has_escapes })
}
