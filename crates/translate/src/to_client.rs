//! Translation of responses, notifications and tools to the revision of a client.

use std::borrow::Cow;

use bytes::Bytes;
use toolbay_protocol::{Notification, RequestId, Response, Revision, Rope, Splice, meta, model::list_items};

use crate::{
    json::changed,
    revisions::{self, v2026_07_28},
};

/// A server's response as a client of revision `to` understands it, under the client's own id.
pub fn translate_response(
    response: &Response,
    id: &RequestId,
    method: &str,
    from: Revision,
    to: Revision,
) -> Rope {
    let changed = revisions::response(response, method, from, to);
    let response = changed.as_deref().unwrap_or(response);
    let mut splice = response.with_id(id);
    match (from.is_modern(), to.is_modern()) {
        (false, true) => v2026_07_28::add_fields(response, method, &mut splice),
        (true, false) => v2026_07_28::cut_fields(response, &mut splice),
        _ => {}
    }
    response.edited(splice)
}

/// A progress notification under the token that the client chose (JSON text).
pub fn progress(notification: &Notification, token: &str) -> Rope {
    let mut splice = Splice::new(&notification.text);
    if let Some(span) = notification.param(meta::PROGRESS_TOKEN) {
        splice.replace(span, token);
    }
    notification.edited(splice)
}

/// A notification tagged with the subscription it belongs to.
pub fn tagged(notification: &Notification, subscription: &RequestId) -> Rope {
    let mut splice = Splice::new(&notification.text);
    match notification.meta(meta::SUBSCRIPTION_ID) {
        Some(span) => {
            splice.replace(span, subscription.as_raw());
        }
        None => notification.insert_meta(&mut splice, &[(meta::SUBSCRIPTION_ID, subscription.as_raw())]),
    }
    notification.edited(splice)
}

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
/// Clients ignore unknown fields, so only what would break one is changed.
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

/// Removes the id of the subscription that a notification came on: that was ours, and means nothing to
/// anyone else.
pub fn untagged(notification: &Notification) -> Rope {
    let mut splice = Splice::new(&notification.text);
    if notification.meta(meta::SUBSCRIPTION_ID).is_some()
        && let (Some(fields), Some(params)) = (&notification.meta, &notification.params)
    {
        // Without its only field, `_meta` goes as well.
        let cuts = match fields.entries.len() {
            1 => params.cuts(&notification.text, &["_meta"]),
            _ => fields.cuts(&notification.text, &[meta::SUBSCRIPTION_ID]),
        };
        for cut in cuts {
            splice.replace(cut, "");
        }
    }
    notification.edited(splice)
}
