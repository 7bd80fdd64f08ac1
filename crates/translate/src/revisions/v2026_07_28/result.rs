//! What results of the stateless era say, and what a tool may answer.

use bytes::Bytes;
use smallvec::SmallVec;
use toolbay_protocol::{ErrorCode, ErrorObject, Outcome, Response, Splice, method};

use crate::{content::put_structured_text, json::Object, revisions::with_outcome};

const TYPE: &str = "resultType";
const COMPLETE: &str = "\"complete\"";

/// What every result of the stateless era says, where a server with a handshake did not.
pub(crate) fn add_fields(response: &Response, asked: &str, splice: &mut Splice<'_>) {
    let Outcome::Result { fields, .. } = &response.outcome else { return };
    let mut add: SmallVec<[(&str, &str); 3]> = SmallVec::new();
    let mut missing = |key, value| {
        if response.result_field(key).is_none() {
            add.push((key, value));
        }
    };
    missing(TYPE, COMPLETE);
    let asks = response.result_field(TYPE).is_some_and(|kind| response.raw(kind) == "\"input_required\"");
    if asked == method::RESOURCES_READ && !asks {
        // A server with a handshake says nothing about caching: so nobody may.
        missing("ttlMs", "0");
        missing("cacheScope", "\"private\"");
    }
    if !add.is_empty() {
        splice.insert_fields(fields, &add);
    }
}

/// Removes what only the stateless era says.
pub(crate) fn cut_fields(response: &Response, splice: &mut Splice<'_>) {
    let Outcome::Result { fields, .. } = &response.outcome else { return };
    for cut in fields.cuts(&response.text, &[TYPE, "ttlMs", "cacheScope"]) {
        splice.replace(cut, "");
    }
}

pub(super) fn for_older(response: &Response, asked: &str) -> Option<Bytes> {
    if let Some(kind) =
        response.result_field(TYPE).map(|kind| response.raw(kind)).filter(|kind| *kind != COMPLETE)
    {
        // To cut the type would pass it off as a complete result.
        let why = format!("the server's result has the type {kind}, which legacy clients do not support");
        let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, why);
        return Some(toolbay_protocol::error(response.id.as_ref(), &error));
    }
    let structured = response.result_field("structuredContent")?;
    if asked != method::TOOLS_CALL || response.text[structured.range()].starts_with(b"{") {
        return None;
    }
    let mut result = Object::parse(response.result_text()?)?;
    put_structured_text(&mut result);
    result.remove("structuredContent");
    Some(with_outcome(response, &result.text()))
}
