//! Lists, page by page.

use serde_json::{Value, json};
use toolbay_protocol::{ErrorCode, ErrorObject, Request};

/// The page of `items` that a request asks for.
pub(super) fn page(
    request: &Request,
    field: &str,
    items: Vec<Value>,
    size: usize,
) -> Result<Value, ErrorObject> {
    let start = match request.call.string_param("cursor") {
        None => 0,
        Some(cursor) => match cursor.parse() {
            Ok(start) if start < items.len() => start,
            _ => return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "unknown cursor")),
        },
    };
    let end = start.saturating_add(size).min(items.len());
    let mut result = json!({field: items[start..end]});
    if end < items.len() {
        result["nextCursor"] = end.to_string().into();
    }
    Ok(result)
}
