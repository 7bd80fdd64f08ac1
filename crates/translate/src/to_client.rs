//! Answers and notifications on their way to a client.

use toolbay_protocol::{Notification, RequestId, Response, Revision, Rope, Splice, meta};

use crate::revisions::{self, v2026_07_28};

/// A server's answer as a client of revision `to` understands it, under the client's own id.
pub fn translate_response(
    response: &Response,
    id: &RequestId,
    asked: &str,
    from: Revision,
    to: Revision,
) -> Rope {
    let changed = revisions::response(response, asked, from, to);
    let response = changed.as_deref().unwrap_or(response);
    let mut splice = response.with_id(id);
    match (from.is_modern(), to.is_modern()) {
        (false, true) => v2026_07_28::add_fields(response, asked, &mut splice),
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
