//! Sampling: tools, and messages of several blocks.

use super::lacks;
use crate::{
    content::text_block,
    json::{Object, array, items},
    server_request::{UnsupportedServerRequest, wants_tools},
};

/// A sampling question without tools, each message of one block.
pub(super) fn server_request_for_older(params: &mut Object<'_>) -> Result<(), UnsupportedServerRequest> {
    if wants_tools(params) {
        return Err(lacks("tools in sampling"));
    }
    params.remove("tools");
    params.remove("toolChoice");
    let Some(messages) = params.get("messages").and_then(items) else { return Ok(()) };
    let mut apart = Vec::new();
    for text in &messages {
        let message = Object::parse(text);
        let content = message.as_ref().and_then(|message| message.get("content"));
        let (Some(message), Some(content)) = (&message, content) else {
            apart.push((*text).to_owned());
            continue;
        };
        let blocks = blocks(content);
        if blocks.as_deref().unwrap_or(&[content]).iter().any(|block| is_about_tools(block)) {
            return Err(lacks("tools in sampling"));
        }
        match blocks {
            Some(blocks) => take_apart(message, &blocks, &mut apart),
            None => apart.push((*text).to_owned()),
        }
    }
    if apart != messages {
        params.set("messages", array(&apart));
    }
    Ok(())
}

/// The blocks of a message that holds several.
fn blocks(content: &str) -> Option<Vec<&str>> {
    items(content).filter(|blocks| blocks.iter().all(|block| block.starts_with('{')))
}

fn is_about_tools(block: &str) -> bool {
    let kind = Object::parse(block);
    let kind = kind.as_ref().and_then(|block| block.string("type"));
    matches!(kind.as_deref(), Some("tool_use" | "tool_result"))
}

/// A message for each block, all of the same role. What else a message says is said once.
fn take_apart(message: &Object<'_>, blocks: &[&str], apart: &mut Vec<String>) {
    let role = message.get("role").filter(|role| matches!(*role, "\"user\"" | "\"assistant\""));
    let mut whole = message.clone();
    for (index, block) in blocks.iter().enumerate() {
        if index == 0 {
            whole.set("content", (*block).to_owned());
            apart.push(whole.text());
        } else {
            apart.push(format!("{{\"role\":{},\"content\":{block}}}", role.unwrap_or("\"user\"")));
        }
    }
}

/// A model's answer as one block: the only one, else all text in one, else the first.
pub(super) fn one_block(content: &str) -> Option<String> {
    let blocks = blocks(content)?;
    if let [block] = blocks.as_slice() {
        return Some((*block).to_owned());
    }
    let text = |block: &&str| {
        let block = Object::parse(block)?;
        Some(block.string("text")?.into_owned())
    };
    let texts: Vec<String> = blocks.iter().filter_map(text).collect();
    match blocks.first() {
        Some(first) if texts.is_empty() => Some((*first).to_owned()),
        _ => Some(text_block(&texts.join("\n"))),
    }
}
