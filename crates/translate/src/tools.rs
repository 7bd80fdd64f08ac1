//! Definitions of tools on their way to a client.

use std::borrow::Cow;

use bytes::Bytes;
use toolbay_protocol::{Revision, model::list_items};

use crate::{json::changed, revisions};

/// A list of tools (a JSON array) as a client of `revision` can read it.
pub fn tools_for(list: &Bytes, revision: Revision) -> Bytes {
    if revision == Revision::LATEST {
        return list.clone();
    }
    let Ok(items) = list_items(list) else { return list.clone() };
    let tools: Vec<Cow<'_, [u8]>> = items.iter().map(|item| tool_for(item, revision)).collect();
    if tools.iter().all(|tool| matches!(tool, Cow::Borrowed(_))) {
        return list.clone();
    }
    [&b"["[..], &tools.join(&b','), b"]"].concat().into()
}

/// A tool's definition as a client of `revision` can read it.
///
/// What a client does not know it does not look at, so only what would break one is changed.
pub fn tool_for(item: &[u8], revision: Revision) -> Cow<'_, [u8]> {
    if revision == Revision::LATEST {
        return item.into();
    }
    let text = std::str::from_utf8(item).ok();
    let changed = text.and_then(|text| {
        changed(text, |tool| {
            revisions::down(Revision::LATEST, revision).for_each(|step| step.tool_for_older(tool))
        })
    });
    changed.map_or(Cow::Borrowed(item), |text| text.into_bytes().into())
}
