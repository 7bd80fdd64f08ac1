//! Tools that a person has to allow: a hint for clients that ask their users themselves.

use bytes::Bytes;
use toolbay_protocol::{Rope, Splice, model::Item};

/// What Claude Code reads: it asks its user before every call, whatever was allowed before.
const KEY: &str = "anthropic/requiresUserInteraction";

/// The definition of a tool whose every call a person has to allow, with a hint that says so.
pub(super) fn with_hint(tool: Bytes) -> Rope {
    let Ok(item) = Item::parse(tool.clone()) else { return tool.into() };
    let meta = item.span("_meta").zip(item.raw("_meta"));
    match meta {
        Some((_, raw)) if raw.contains(KEY) => tool.into(),
        Some((span, raw)) => {
            let Some(fields) = raw.strip_prefix('{') else { return tool.into() };
            let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
            let mut splice = Splice::new(&tool);
            splice.replace(span, format!(r#"{{"{KEY}":true{comma}{fields}"#));
            splice.finish()
        }
        None => {
            // Every tool has a name.
            let Some(end) = tool.iter().rposition(|byte| *byte == b'}') else { return tool.into() };
            let mut text = tool[..end].to_vec();
            text.extend_from_slice(format!(r#","_meta":{{"{KEY}":true}}}}"#).as_bytes());
            Bytes::from(text).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_added_to_what_is_there() {
        for (tool, expected) in [
            (r#"{"name":"t"}"#, r#"{"name":"t","_meta":{"anthropic/requiresUserInteraction":true}}"#),
            (
                r#"{"name":"t","_meta":{ }} "#,
                r#"{"name":"t","_meta":{"anthropic/requiresUserInteraction":true }} "#,
            ),
            (
                r#"{"_meta":{"a":1},"name":"t"}"#,
                r#"{"_meta":{"anthropic/requiresUserInteraction":true,"a":1},"name":"t"}"#,
            ),
            (
                r#"{"name":"t","_meta":{"anthropic/requiresUserInteraction":false}}"#,
                r#"{"name":"t","_meta":{"anthropic/requiresUserInteraction":false}}"#,
            ),
        ] {
            assert_eq!(with_hint(Bytes::from_static(tool.as_bytes())).into_bytes(), expected);
        }
    }
}
