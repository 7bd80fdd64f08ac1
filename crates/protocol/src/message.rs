//! The three kinds of JSON-RPC messages.

pub(crate) mod build;
pub(crate) mod envelope;

use std::ops::Deref;

use bytes::Bytes;

use self::envelope::Envelope;
use crate::{
    ErrorObject, Fields, ParseError, RequestId, Rope, Scanner, Span, Splice,
    json::{splice::push_object, string::decode_string},
};

/// One JSON-RPC message. Boxed: it is handed on often before it is looked at.
#[derive(Debug, Clone)]
pub enum Message {
    /// Expects a response.
    Request(Box<Request>),
    /// Expects no response.
    Notification(Box<Notification>),
    /// The response to a request.
    Response(Box<Response>),
}

/// A message with an id, which expects a response.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its id, as the sender wrote it.
    pub id: RequestId,
    /// Where the id stands.
    pub id_span: Span,
    /// Its method and parameters.
    pub call: MethodCall,
}

/// A message without an id, which expects no response.
#[derive(Debug, Clone)]
pub struct Notification {
    /// Its method and parameters.
    pub call: MethodCall,
}

/// A method with its parameters: all that a notification has, and what a request has besides its id.
#[derive(Debug, Clone)]
pub struct MethodCall {
    /// The whole message.
    pub text: Bytes,
    method: Method,
    /// The fields of `params`, if there are any.
    pub params: Option<Fields>,
    /// The fields of `params._meta`, if it is an object.
    pub meta: Option<Fields>,
    /// The closing brace of the envelope.
    end: u32,
    /// Whether line breaks stand between tokens.
    multiline: bool,
    /// Whether a number in `params` may not survive a trip through `f64`.
    pub has_wide_numbers: bool,
}

/// The response to a request.
#[derive(Debug, Clone)]
pub struct Response {
    /// The whole message.
    pub text: Bytes,
    /// The id of its request; absent when that could not be read.
    pub id: Option<RequestId>,
    id_span: Span,
    /// Result or error.
    pub outcome: Outcome,
    multiline: bool,
}

/// How a request ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Well: the fields of the result and of its `_meta`.
    Result { fields: Fields, meta: Option<Fields> },
    /// Badly: the whole error object.
    Error { span: Span },
}

#[derive(Debug, Clone)]
enum Method {
    /// A frequent one, which needs no look at the text.
    Frequent(&'static str),
    Plain(Span),
    /// Written with escapes, which are decoded here.
    Decoded(Box<str>),
}

impl Message {
    /// Reads one message, checking every byte of it.
    pub fn parse(text: Bytes) -> Result<Self, ParseError> {
        let mut envelope = Envelope::default();
        envelope.scan(&text)?;
        envelope.into_message(text)
    }

    /// Returns the text of the message, as it was sent.
    pub fn text(&self) -> &Bytes {
        match self {
            Self::Request(request) => &request.call.text,
            Self::Notification(notification) => &notification.text,
            Self::Response(response) => &response.text,
        }
    }
}

/// How many messages a batch may hold; an element may be far shorter than what we keep of it.
const MAX_BATCH: usize = 1024;

/// Reads a batch of 2025-03-26, or a single message. Each element is judged alone.
pub fn parse_batch(text: Bytes) -> Result<Vec<Result<Message, ParseError>>, ParseError> {
    check_text(&text)?;
    let mut scanner = Scanner::new(&text);
    if scanner.peek_kind()? != b'[' {
        return Ok(vec![Ok(Message::parse(text)?)]);
    }
    let mut spans = Vec::new();
    scanner.array(|scanner| {
        let span = scanner.value()?;
        if spans.len() == MAX_BATCH {
            return Err(ParseError::LongBatch { limit: MAX_BATCH });
        }
        spans.push(span);
        Ok(())
    })?;
    scanner.end()?;
    if spans.is_empty() {
        return Err(ParseError::NotAnObject);
    }
    Ok(spans.into_iter().map(|span| Message::parse(text.slice(span.range()))).collect())
}

impl Deref for Notification {
    type Target = MethodCall;

    fn deref(&self) -> &MethodCall {
        &self.call
    }
}

impl MethodCall {
    /// The method.
    pub fn method(&self) -> &str {
        match &self.method {
            Method::Frequent(method) => method,
            Method::Plain(span) => str_of(&self.text, *span),
            Method::Decoded(method) => method,
        }
    }

    /// The JSON text at `span`. For what may be long, [`MethodCall::bytes`] costs nothing.
    pub fn raw(&self, span: Span) -> &str {
        str_of(&self.text, span)
    }

    /// The JSON text at `span`, as bytes.
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.text[span.range()]
    }

    /// The value of the parameter `name`.
    pub fn param(&self, name: &str) -> Option<Span> {
        self.params.as_ref()?.get(&self.text, name)
    }

    /// The value of the parameter `name`, if it is a string.
    pub fn string_param(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        decode_string(&self.text[self.param(name)?.range()])
    }

    /// The value of `_meta`'s field `key`.
    pub fn meta(&self, key: &str) -> Option<Span> {
        self.meta.as_ref()?.get(&self.text, key)
    }

    /// All parameters as JSON text.
    pub fn params_text(&self) -> Option<&str> {
        self.params.as_ref().map(|params| str_of(&self.text, params.span))
    }

    /// Applies edits and returns the message on one line.
    pub fn edited(&self, splice: Splice<'_>) -> Rope {
        one_line(splice.finish(), self.multiline)
    }

    /// Inserts fields into `params._meta`, making it (and `params`) when there is none.
    pub fn insert_meta(&self, splice: &mut Splice<'_>, fields: &[(&str, &str)]) {
        if let Some(meta) = &self.meta {
            splice.insert_fields(meta, fields);
            return;
        }
        match &self.params {
            // Something else that calls itself `_meta`: a second one beside it would be ambiguous.
            Some(_) if let Some(span) = self.param("_meta") => {
                splice.replace_object(span, fields.iter().copied());
            }
            Some(params) => {
                splice.insert_object(params, "_meta", fields);
            }
            None => {
                let at = Span { start: self.end, end: self.end };
                splice.edit(at, |text| {
                    text.extend_from_slice(b",\"params\":{\"_meta\":");
                    push_object(text, fields.iter().copied());
                    text.push(b'}');
                });
            }
        }
    }
}

impl Response {
    /// The JSON text at `span`.
    pub fn raw(&self, span: Span) -> &str {
        str_of(&self.text, span)
    }

    /// The error, if it is one.
    pub fn error(&self) -> Option<ErrorObject> {
        match &self.outcome {
            Outcome::Error { span } => serde_json::from_str(self.raw(*span)).ok(),
            Outcome::Result { .. } => None,
        }
    }

    /// The result as JSON text, if it is one.
    pub fn result_text(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Result { fields, .. } => Some(self.raw(fields.span)),
            Outcome::Error { .. } => None,
        }
    }

    /// The value of a field of the result.
    pub fn result_field(&self, name: &str) -> Option<Span> {
        match &self.outcome {
            Outcome::Result { fields, .. } => fields.get(&self.text, name),
            Outcome::Error { .. } => None,
        }
    }

    /// Starts edits by putting another id in place.
    pub fn with_id<'a>(&'a self, id: &RequestId) -> Splice<'a> {
        let mut splice = Splice::new(&self.text);
        let id = id.as_raw();
        let has_id = self.id_span.start < self.id_span.end;
        if has_id {
            splice.replace(self.id_span, id);
        } else {
            splice.replace(self.id_span, format!(",\"id\":{id}"));
        }
        splice
    }

    /// Applies edits and returns the message on one line.
    pub fn edited(&self, splice: Splice<'_>) -> Rope {
        one_line(splice.finish(), self.multiline)
    }
}

fn one_line(rope: Rope, multiline: bool) -> Rope {
    if multiline { rope.on_one_line() } else { rope }
}

fn str_of(text: &Bytes, span: Span) -> &str {
    std::str::from_utf8(&text[span.range()]).unwrap_or_default()
}

fn check_text(text: &[u8]) -> Result<(), ParseError> {
    if text.len() >= u32::MAX as usize {
        return Err(ParseError::TooLong { limit: u32::MAX as usize });
    }
    std::str::from_utf8(text).map(drop).map_err(|error| ParseError::Utf8 { at: error.valid_up_to() })
}
