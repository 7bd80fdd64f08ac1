//! What tools return, and how much of it.

use serde::Serialize;
use serde_json::{Map, Value, json};
use toolbay_protocol::{ObjectBuilder, encode_string};

/// What a handler returns. Errors are for the model: they become results with `isError`.
pub type ToolResult = Result<ToolOutput, ToolError>;

/// The result of a call, already as JSON text: it is made once and read once.
#[derive(Debug, Clone, Default)]
pub struct ToolOutput {
    content: Vec<String>,
    structured: Option<String>,
    meta: Map<String, Value>,
    is_error: bool,
}

/// Why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ToolError {
    /// One argument is invalid. The caller can correct it.
    #[error("{pointer} {reason}")]
    InvalidArgument {
        /// Its JSON pointer: `/edits/0/oldText`.
        pointer: String,
        /// What is wrong with it, after its name: "is missing".
        reason: String,
    },
    /// The arguments cannot be read at all.
    #[error("{0}")]
    InvalidArguments(String),
    /// The arguments are valid, and the tool failed.
    #[error("{0}")]
    Failed(String),
}

impl ToolOutput {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and_text(text)
    }

    /// A text that is also a field of the structured content, as some contracts have it.
    pub fn text_and_field(field: &str, text: &str) -> Self {
        let text = encode_string(text);
        let structured = ObjectBuilder::with_capacity(text.len() + 32).raw(field, &text).finish();
        Self { structured: Some(structured), ..Self::default() }.and_encoded(&text)
    }

    /// A structured result. Its JSON is the text, too, for clients that show only that.
    pub fn json(value: &impl Serialize) -> Self {
        let value = json!(value).to_string();
        Self { structured: Some(value.clone()), ..Self::text(value) }
    }

    /// Adds another text.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and_encoded(&encode_string(&text.into()))
    }

    fn and_encoded(mut self, text: &str) -> Self {
        let block = ObjectBuilder::with_capacity(text.len() + 32).string("type", "text").raw("text", text);
        self.content.push(block.finish());
        self
    }

    /// Adds any content block of MCP: an image, audio, a resource or a link to one.
    pub fn and_block(mut self, block: &Value) -> Self {
        self.content.push(block.to_string());
        self
    }

    /// Sets the structured content. The texts stay.
    pub fn with_structured(self, value: &impl Serialize) -> Self {
        Self { structured: Some(json!(value).to_string()), ..self }
    }

    /// Adds to `_meta`: what programs may want to know about the result, and models need not.
    pub fn with_meta(mut self, key: &str, value: &impl Serialize) -> Self {
        self.meta.insert(key.to_owned(), json!(value));
        self
    }

    /// Marks a failure that has output, such as a command that exited with an error.
    pub fn as_error(self) -> Self {
        Self { is_error: true, ..self }
    }

    /// Returns the result of `tools/call`, a JSON object.
    pub fn to_json(&self) -> String {
        let content: usize = self.content.iter().map(|block| block.len() + 1).sum();
        let length = content + self.structured.as_ref().map_or(0, String::len) + 64;
        let mut result = ObjectBuilder::with_capacity(length);
        if !self.meta.is_empty() {
            result = result.value("_meta", &self.meta);
        }
        result = result.array("content", self.content.iter().map(String::as_str));
        if self.is_error {
            result = result.raw("isError", "true");
        }
        match &self.structured {
            Some(structured) => result.raw("structuredContent", structured),
            None => result,
        }
        .finish()
    }
}

impl ToolError {
    /// An argument that is valid by its schema and yet cannot be used. `reason` follows its name: "has no words".
    pub fn argument(name: &str, reason: impl Into<String>) -> Self {
        Self::InvalidArgument { pointer: format!("/{name}"), reason: reason.into() }
    }

    /// A failure, described for the model.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed(reason.into())
    }

    /// Whether the caller can do better with other arguments.
    pub fn is_invalid_argument(&self) -> bool {
        matches!(self, Self::InvalidArgument { .. } | Self::InvalidArguments(_))
    }
}

/// Limits of results. Every tool whose result can be long has one, and tells how to get the rest.
pub mod limit {
    /// Returns the beginning of a text, at most `limit` bytes: whole lines if there are any, else whole characters.
    pub fn head(text: &str, limit: usize) -> &str {
        if text.len() <= limit {
            return text;
        }
        let head = &text[..text.floor_char_boundary(limit)];
        match head.rfind('\n') {
            Some(end) => &head[..=end],
            None => head,
        }
    }

    /// Returns how many of the first items fit into `limit`, where `size` says what each takes. At least one does, so that
    /// the next page is never the same page.
    pub fn leading<T>(items: &[T], limit: usize, size: impl Fn(&T) -> usize) -> usize {
        let mut used: usize = 0;
        let fits = |item: &&T| {
            used = used.saturating_add(size(item));
            used <= limit
        };
        items.iter().take_while(fits).count().max(1).min(items.len())
    }

    /// Estimates how many tokens a text is to a model.
    pub fn tokens(text: &str) -> usize {
        text.len().div_ceil(4)
    }

    #[cfg(test)]
    mod tests {
        use super::{head, leading};

        #[test]
        fn heads_are_whole_lines_or_whole_characters() {
            for (text, limit, expected) in
                [("abc", 3, "abc"), ("a\nbcd", 4, "a\n"), ("äöü", 3, "ä"), ("ab", 0, ""), ("a\n", 2, "a\n")]
            {
                assert_eq!(head(text, limit), expected, "{text:?} {limit}");
            }
        }

        #[test]
        fn at_least_one_item_fits() {
            let size = |item: &&str| item.len();
            assert_eq!(leading(&["aa", "bb", "c"], 4, size), 2);
            assert_eq!(leading(&["aaaaa", "b"], 4, size), 1);
            assert_eq!(leading(&[], 4, size), 0);
        }
    }
}
