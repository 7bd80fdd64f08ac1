//! Content blocks that an older revision lacks, converted to ones it has.

use bytes::Bytes;
use memchr::memmem;
use toolbay_protocol::{ObjectBuilder, Response, Splice, encode_string, method};

use crate::json::{Object, changed, mapped};

/// A result in which `change` has replaced blocks of one kind (a JSON string); nothing if there are none.
pub(crate) fn replace_blocks(
    response: &Response,
    method: &str,
    kind: &str,
    change: impl Fn(Object<'_>) -> Option<String>,
) -> Option<Bytes> {
    let field = match method {
        method::TOOLS_CALL => "content",
        method::PROMPTS_GET => "messages",
        _ => return None,
    };
    let span = response.result_field(field)?;
    // Nearly every result ends here, before anything is parsed.
    memmem::find(&response.text[span.range()], kind.as_bytes())?;
    let block = |block: &str| {
        let block = Object::parse(block).filter(|block| block.get("type") == Some(kind))?;
        change(block)
    };
    let message = |message: &str| changed(message, |message| message.change("content", block));
    let blocks = response.raw(span);
    let new = if field == "content" { mapped(blocks, block) } else { mapped(blocks, message) }?;
    let mut splice = Splice::new(&response.text);
    splice.replace(span, new);
    Some(response.edited(splice).into_bytes())
}

/// A block of text.
pub(crate) fn text_block(text: &str) -> String {
    ObjectBuilder::new().string("type", "text").string("text", text).finish()
}

/// Turns a block into one of text; what is not about its former kind stays.
pub(crate) fn into_text(mut block: Object<'_>, text: &str, former: &[&str]) -> String {
    former.iter().for_each(|name| block.remove(name));
    block.set("type", "\"text\"");
    block.set("text", encode_string(text));
    block.text()
}

/// Whether a tool's `content` gives those who do not read `structuredContent` nothing to read.
pub(crate) fn says_nothing(content: Option<&str>) -> bool {
    content.is_none_or(|content| {
        content == "null" || content.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(']'))
    })
}

/// Gives a tool's result content, if it has only structured content.
pub(crate) fn put_structured_text(result: &mut Object<'_>) {
    if let Some(structured) = result.get("structuredContent")
        && says_nothing(result.get("content"))
    {
        let content = format!("[{}]", text_block(structured));
        result.set("content", content);
    }
}

/// How many bytes a base64 text stands for.
pub(crate) fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}
