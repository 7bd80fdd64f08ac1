//! Notifications without the tag of the subscription on which they came.

use toolbay_protocol::{Notification, Rope, Splice, meta};

/// A notification that says nothing about the subscription which brought it: that was ours, and means nothing to
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
