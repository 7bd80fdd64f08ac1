//! What a server says about itself, made fit to be kept and shown.
//!
//! Every client gets the instructions of every server with its handshake, and models read them. So they are short, and
//! nothing in them hides: characters that cannot be seen, or that turn the direction of what follows, are removed.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};
use toolbay_protocol::model::Item;

/// Longer instructions are cut.
const MAX_INSTRUCTIONS: usize = 8 * 1024;
/// A longer `serverInfo` is reduced to name and version.
const MAX_SERVER_INFO: usize = 4 * 1024;
/// Of longer `capabilities`, what is experimental is left out.
const MAX_CAPABILITIES: usize = 16 * 1024;
/// What is left of a name or version.
const MAX_NAME: usize = 200;

/// Instructions without what hides, and no longer than allowed.
pub(super) fn instructions(text: &str, notes: &mut Vec<String>) -> String {
    let visible = without_invisible(text);
    if visible.len() <= MAX_INSTRUCTIONS {
        return visible.into_owned();
    }
    notes.push(format!(
        "its instructions are {} bytes long and are truncated to {MAX_INSTRUCTIONS}",
        visible.len()
    ));
    format!("{}\n[cut]", &visible[..visible.floor_char_boundary(MAX_INSTRUCTIONS)])
}

/// `serverInfo` (JSON text), no longer than allowed.
pub(super) fn server_info(text: String, notes: &mut Vec<String>) -> String {
    if text.len() <= MAX_SERVER_INFO {
        return text;
    }
    notes.push(format!("its `serverInfo` is {} bytes long and is reduced to name and version", text.len()));
    let info: Value = serde_json::from_str(&text).unwrap_or_default();
    let short = |name: &str| {
        let value = info[name].as_str().unwrap_or_default();
        value[..value.floor_char_boundary(MAX_NAME)].to_owned()
    };
    json!({ "name": short("name"), "version": short("version") }).to_string()
}

/// `capabilities` (JSON text), no longer than allowed; nothing if that is not possible.
pub(super) fn capabilities(text: String, notes: &mut Vec<String>) -> Option<String> {
    if text.len() <= MAX_CAPABILITIES {
        return Some(text);
    }
    notes.push(format!("its `capabilities` are {} bytes long; experimental ones are omitted", text.len()));
    let item = Item::parse(Bytes::from(text)).ok()?;
    let known =
        String::from_utf8(item.without(&["experimental", "extensions"]).into_bytes().to_vec()).ok()?;
    (known.len() <= MAX_CAPABILITIES).then_some(known)
}

fn without_invisible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    text.chars().filter(|next| !is_invisible(*next)).collect::<String>().into()
}

/// Control characters but for line breaks and tabs, and what has no width or turns the direction of text.
fn is_invisible(next: char) -> bool {
    match next {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_with_a_note() {
        let mut notes = Vec::new();
        assert_eq!(instructions("Use it\n\twell. Grüße 😀", &mut notes), "Use it\n\twell. Grüße 😀");
        assert_eq!(
            server_info(r#"{"name":"a", "x":1.0}"#.to_owned(), &mut notes),
            r#"{"name":"a", "x":1.0}"#
        );
        assert!(notes.is_empty());
        let long = instructions(&"ä".repeat(3_000_000), &mut notes);
        assert!(long.len() < MAX_INSTRUCTIONS + 10 && long.ends_with("ä\n[cut]"), "{}", long.len());
        let name = "n".repeat(3_000_000);
        let info = server_info(json!({ "name": name, "version": "1", "icons": [] }).to_string(), &mut notes);
        assert_eq!(info, json!({ "name": "n".repeat(MAX_NAME), "version": "1" }).to_string());
        let wide = json!({ "tools": {"listChanged": true}, "experimental": { "x": name } }).to_string();
        assert_eq!(capabilities(wide, &mut notes).unwrap(), r#"{"tools":{"listChanged":true}}"#);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert_eq!(capabilities(json!({ "tools": { "x": name } }).to_string(), &mut notes), None);
    }

    #[test]
    fn nothing_hides() {
        let hidden = "a\u{1b}[31mb\u{202e}c\u{200b}d\u{e0041}e\u{7}f\r\ng\u{feff}\u{9b}h";
        assert_eq!(instructions(hidden, &mut Vec::new()), "a[31mbcdef\ngh");
    }
}
