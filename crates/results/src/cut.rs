//! Cutting a result of a tool to what a client should get.
//!
//! The bytes of the message are looked at with the scanner and never decoded as a whole; what stays is moved as it was written.
//! Content and structured content are measured apart: they usually say the same, and clients show models one of them.

mod content;
mod structured;

use std::io;

use bytes::Bytes;
use toolbay_protocol::{ObjectBuilder, Response, Span, Splice, encode_string};

use crate::{LazyResultStore, ResultFormat, ResultLink, ResultStore, ResultWriter};

/// Whether a JSON text matches a schema.
pub type SchemaCheck<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// How a result is cut.
pub struct CutOptions<'a> {
    /// How many bytes of text stay, and of structured content.
    pub limit: usize,
    /// Where the whole is kept.
    pub store: &'a LazyResultStore,
    /// Who can read it.
    pub principal: &'a str,
    /// Whether the client knows content blocks that are links to resources.
    pub has_resource_links: bool,
    /// Whether structured content matches the schema that the tool declares. None if it declares none.
    pub matches_schema: Option<&'a SchemaCheck<'a>>,
}

impl std::fmt::Debug for CutOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CutOptions").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Structured content that must match a schema is cut to at most this: longer values are not checked.
const MAX_CHECKED: usize = 256 * 1024;

/// The response to `tools/call` as a client should get it; none if it is short enough.
///
/// Nothing of the given message is referred to by what is returned. Blocks: the whole is written to a file.
pub fn cut(response: &Response, options: &CutOptions<'_>) -> Option<Bytes> {
    // Nothing in it can be longer than itself.
    if response.result_text()?.len() <= options.limit {
        return None;
    }
    let text = &response.text;
    let mut keeping = ResultKeeping { options, store: None };
    let content_span = response.result_field("content").filter(|span| text[span.start as usize] == b'[');
    let content = content_span.and_then(|span| content::cut(text, span, &mut keeping));
    let structured_span = response.result_field("structuredContent");
    let long = structured_span.filter(|span| span.range().len() > options.limit);
    let structured = long.map(|span| cut_structured(&text[span.range()], &mut keeping));
    if content.is_none() && structured.is_none() {
        return None;
    }
    let mut splice = Splice::new(text);
    let mut content = match (content, content_span) {
        (Some(blocks), _) => blocks,
        (None, Some(span)) => text[span.range()].to_vec(),
        (None, None) => b"[]".to_vec(),
    };
    let mut new_fields: Vec<(&str, String)> = Vec::new();
    if let (Some(cut), Some(span)) = (structured, structured_span) {
        push_block(&mut content, &text_block(&cut.note));
        match cut.value {
            Some(value) => drop(splice.replace(span, value)),
            None => remove_structured(response, &mut splice),
        }
        if cut.is_failure {
            match response.result_field("isError") {
                Some(span) => drop(splice.replace(span, "true")),
                None => new_fields.push(("isError", "true".to_owned())),
            }
        }
    }
    match content_span {
        Some(span) => drop(splice.replace(span, &content)),
        None => new_fields.push(("content", String::from_utf8_lossy(&content).into_owned())),
    }
    insert(response, &mut splice, &new_fields);
    Some(response.edited(splice).into_bytes())
}

/// Structured content as the client gets it.
struct CutStructured {
    /// None if it is left out.
    value: Option<Vec<u8>>,
    note: String,
    /// Whether the result becomes one of a failed call: clients that require structured content would fail otherwise.
    is_failure: bool,
}

/// Shortens structured content. Where the tool declares a schema, clients check against it, and fail where structured content is
/// missing: so it must match, or the result must be one that is not checked.
fn cut_structured(value: &[u8], keeping: &mut ResultKeeping<'_>) -> CutStructured {
    let kept = keeping.keep(ResultFormat::Json, |writer| writer.write(value));
    let whole = kept.described();
    let total = value.len();
    let has_schema = keeping.options.matches_schema.is_some();
    let budget = if has_schema { keeping.options.limit.min(MAX_CHECKED) } else { keeping.options.limit };
    let (cut, places) = structured::shorten(value, budget);
    let fits = keeping.options.matches_schema.is_none_or(|matches| matches(&cut));
    if fits && cut.len() <= budget + structured::TOLERANCE {
        let note = format!(
            "[… structuredContent was shortened from {total} to {} bytes ({places}); {whole} …]",
            cut.len()
        );
        return CutStructured { value: Some(cut), note, is_failure: false };
    }
    let why = format!("[… structuredContent is left out: it has {total} bytes, and no shorter form of it ");
    if has_schema {
        let note =
            format!("{why}matches the output schema. The call succeeded, do not repeat it; {whole} …]");
        return CutStructured { value: None, note, is_failure: true };
    }
    CutStructured { value: None, note: format!("{why}was found; {whole} …]"), is_failure: false }
}

/// Takes the field out together with a comma.
fn remove_structured(response: &Response, splice: &mut Splice<'_>) {
    if let toolbay_protocol::Outcome::Result { fields, .. } = &response.outcome {
        for cut in fields.cuts(&response.text, &["structuredContent"]) {
            splice.replace(cut, "");
        }
    }
}

fn insert(response: &Response, splice: &mut Splice<'_>, fields: &[(&str, String)]) {
    if let toolbay_protocol::Outcome::Result { fields: result, .. } = &response.outcome
        && !fields.is_empty()
    {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(key, value)| (*key, value.as_str())).collect();
        splice.insert_fields(result, &fields);
    }
}

/// Keeps what is left out.
struct ResultKeeping<'a> {
    options: &'a CutOptions<'a>,
    /// Opened when it is first needed.
    store: Option<ResultStore>,
}

/// What became of something that is left out.
#[derive(Debug, Clone)]
enum WhatWasKept {
    At(ResultLink),
    Nothing(String),
}

impl WhatWasKept {
    fn uri(&self) -> Option<&str> {
        match self {
            Self::At(link) if link.is_whole => Some(&link.uri),
            Self::At(_) | Self::Nothing(_) => None,
        }
    }

    /// Where the whole is, for one who reads the result.
    fn described(&self) -> String {
        match self {
            Self::At(ResultLink { uri, is_whole: true }) => {
                format!("all of it: {uri}, which `read_result` reads in parts")
            }
            Self::At(ResultLink { uri, is_whole: false }) => {
                format!("the store of results is full, only the beginning was kept: {uri}")
            }
            Self::Nothing(why) => format!("the rest is lost, it could not be kept: {why}"),
        }
    }
}

impl ResultKeeping<'_> {
    fn keep(
        &mut self,
        format: ResultFormat,
        write: impl FnOnce(&mut ResultWriter) -> io::Result<()>,
    ) -> WhatWasKept {
        let kept = self.store().and_then(|store| {
            let mut writer = store.create(format)?;
            write(&mut writer)?;
            Ok(writer.keep())
        });
        match kept {
            Ok(link) => WhatWasKept::At(link),
            Err(error) => {
                tracing::warn!("cannot keep a long result: {error}");
                WhatWasKept::Nothing(error.to_string())
            }
        }
    }

    fn store(&mut self) -> io::Result<ResultStore> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let store = self.options.store.open()?.for_principal(self.options.principal);
        Ok(self.store.insert(store).clone())
    }
}

fn text_block(text: &str) -> String {
    ObjectBuilder::new().string("type", "text").string("text", text).finish()
}

/// A link in place of something that is no text.
fn link_block(uri: &str, name: &str, media_type: &str) -> String {
    let block = ObjectBuilder::new().string("type", "resource_link").string("uri", uri).string("name", name);
    block.string("mimeType", media_type).finish()
}

/// Adds a block at the end of an array of blocks.
fn push_block(array: &mut Vec<u8>, block: &str) {
    array.pop(); // the bracket
    while array.last().is_some_and(u8::is_ascii_whitespace) {
        array.pop();
    }
    if array.last().is_some_and(|last| *last != b'[') {
        array.push(b',');
    }
    array.extend_from_slice(block.as_bytes());
    array.push(b']');
}

/// The text of a note as it stands inside a JSON string.
fn escaped(note: &str) -> String {
    let quoted = encode_string(note);
    quoted[1..quoted.len() - 1].to_owned()
}

/// A span inside another one, as seen from the message.
fn within(outer: Span, inner: Span) -> Span {
    Span { start: outer.start + inner.start, end: outer.start + inner.end }
}

#[cfg(test)]
mod tests;
