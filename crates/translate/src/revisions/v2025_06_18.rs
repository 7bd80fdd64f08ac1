//! 2025-03-26 → 2025-06-18: structured results, links to resources, elicitation, context of completions.
//!
//! Titles and more places for `_meta` are overlooked by older readers, and so are `outputSchema` and
//! `structuredContent` themselves. Elicitation is not translated: clients that support it declare it.

use bytes::Bytes;
use toolbay_protocol::{Response, method};

use super::{RevisionStep, with_outcome};
use crate::{
    content::{into_text, put_structured_text, replace_blocks, says_nothing},
    json::Object,
};

pub(super) struct Changes;

const LINK: &str = "\"resource_link\"";

impl RevisionStep for Changes {
    fn params_unknown_to_older(&self, method: &str) -> &'static [&'static str] {
        if method == method::COMPLETE { &["context"] } else { &[] }
    }

    fn response_for_older(&self, response: &Response, method: &str) -> Option<Bytes> {
        // A result without any block has no link either.
        structured_as_text(response, method).or_else(|| replace_blocks(response, method, LINK, link_as_text))
    }
}

/// Adds the structured content as text, for clients that do not know `structuredContent`.
fn structured_as_text(response: &Response, method: &str) -> Option<Bytes> {
    if method != method::TOOLS_CALL || response.result_field("structuredContent").is_none() {
        return None;
    }
    let content = response.result_field("content");
    if !says_nothing(content.map(|span| response.raw(span))) {
        return None;
    }
    let mut result = Object::parse(response.result_text()?)?;
    put_structured_text(&mut result);
    Some(with_outcome(response, &result.changed_text()?))
}

/// A link as text that names what it leads to.
fn link_as_text(block: Object<'_>) -> Option<String> {
    let uri = block.string("uri")?;
    let mut text = match block.string("title").or_else(|| block.string("name")) {
        Some(name) => format!("{name}: {uri}"),
        None => uri.into_owned(),
    };
    if let Some(description) = block.string("description") {
        text.push('\n');
        text.push_str(&description);
    }
    let former = ["uri", "name", "title", "description", "mimeType", "size", "icons"];
    Some(into_text(block, &text, &former))
}
