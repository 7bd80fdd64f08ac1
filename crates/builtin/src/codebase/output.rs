//! What tools say.

use serde::Serialize;
use serde_json::{Value, json};

use super::CodeError;

/// How a call of a tool ended.
#[derive(Debug)]
pub(super) enum ToolOutcome {
    /// With this.
    Done(ToolAnswer),
    /// The arguments do not fit: which one, and what is wanted. A model can correct itself.
    Misfit(String),
    /// It could not be done.
    Failed(String),
}

/// What a tool found out.
#[derive(Debug)]
pub(super) struct ToolAnswer {
    /// For those who read text: the list that the document describes, as JSON, or the text of a file.
    pub(super) text: String,
    /// For those who read structure: the same and more.
    pub(super) structured: Value,
    /// What is left out, and how to get it.
    pub(super) more: Option<String>,
}

impl ToolAnswer {
    /// A list of results; `fields` is what else is known.
    pub(super) fn list(results: &impl Serialize, mut fields: Value, more: Option<String>) -> Self {
        let results = serde_json::to_value(results).unwrap_or_default();
        let text = results.to_string();
        fields["results"] = results;
        Self { text, structured: fields, more }
    }
}

impl ToolOutcome {
    /// The fields of the result of a call.
    pub(super) fn to_json(&self, tool: &str) -> String {
        match self {
            Self::Done(answer) => {
                let mut content = vec![block(&answer.text)];
                let mut structured = answer.structured.clone();
                if let Some(more) = &answer.more {
                    content.push(block(more));
                    structured["more"] = more.as_str().into();
                }
                json!({ "content": content, "structuredContent": structured }).to_string()
            }
            Self::Misfit(why) => failure(&format!("invalid arguments for `{tool}`: {why}")),
            Self::Failed(why) => failure(why),
        }
    }
}

impl From<CodeError> for ToolOutcome {
    fn from(error: CodeError) -> Self {
        match error {
            CodeError::Misfit { .. } => Self::Misfit(error.to_string()),
            CodeError::Secret(_) | CodeError::Failed(_) | CodeError::Stopped => {
                Self::Failed(error.to_string())
            }
        }
    }
}

impl From<Result<ToolAnswer, CodeError>> for ToolOutcome {
    fn from(result: Result<ToolAnswer, CodeError>) -> Self {
        result.map_or_else(Self::from, Self::Done)
    }
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn failure(why: &str) -> String {
    json!({ "content": [block(why)], "isError": true }).to_string()
}

/// How many tokens a text is to a model, roughly.
pub(super) fn tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The most of a text that fits into so many bytes, whole lines if there are any.
pub(super) fn head(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let head = &text[..text.floor_char_boundary(limit)];
    match head.rfind('\n') {
        Some(end) => &head[..=end],
        None => head,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_whole_lines_or_whole_characters() {
        for (text, limit, expected) in
            [("abc", 3, "abc"), ("a\nbcd", 4, "a\n"), ("äöü", 3, "ä"), ("ab", 0, ""), ("a\n", 2, "a\n")]
        {
            assert_eq!(head(text, limit), expected, "{text:?} {limit}");
        }
    }
}
