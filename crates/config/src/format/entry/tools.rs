//! Lists of tools that are offered, or not.

use serde_json::{Map, Value, json};

use crate::format::fields::{self, EntryFields};

pub(super) fn read(entry: &mut EntryFields<'_>, tuning: &mut Map<String, Value>) -> Result<(), String> {
    let mut allow = entry.texts(&["includeTools", "enabled_tools"])?;
    // For goose, none in the list means all.
    let available = entry.texts(&["available_tools"])?.filter(|tools| !tools.is_empty());
    let listed = entry.take_if("tools", |node| node.list().is_some());
    let listed = listed.map(|node| fields::texts("tools", node)).transpose()?;
    allow = allow.or(available).or(listed).filter(|tools| !tools.iter().any(|tool| tool == "*"));
    let deny = entry.texts(&["excludeTools", "disabled_tools", "disabledTools"])?.unwrap_or_default();
    // Gemini lets arguments follow in brackets.
    let bare = |tools: Vec<String>| -> Vec<String> {
        tools.into_iter().map(|tool| tool.split('(').next().unwrap_or_default().trim().to_owned()).collect()
    };
    let mut filter = Map::new();
    if let Some(allow) = allow {
        filter.insert("allow".to_owned(), json!(bare(allow)));
    }
    if !deny.is_empty() {
        filter.insert("deny".to_owned(), json!(bare(deny)));
    }
    if !filter.is_empty() {
        tuning.insert("tools".to_owned(), Value::Object(filter));
    }
    Ok(())
}
