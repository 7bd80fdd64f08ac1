//! Tools whose arguments are repeated in HTTP headers (`x-mcp-header`).

use std::collections::HashMap;

use bytes::Bytes;
use toolbay_protocol::{
    header_params::{HeaderParam, header_params},
    model::Tool,
};

/// What a list of tools comes to where arguments are repeated in headers.
#[derive(Debug, Default)]
pub(crate) struct SortedTools {
    pub(crate) tools: Vec<Bytes>,
    pub(crate) rules: HashMap<String, Vec<HeaderParam>>,
    /// Tools that are left out, and why.
    pub(crate) problems: Vec<String>,
}

/// Sorts tools. As the specification wants it, one whose annotations are wrong is left out.
pub(crate) fn sort(tools: &[Bytes]) -> SortedTools {
    let mut sorted = SortedTools::default();
    for text in tools {
        // What is no tool is for others to judge.
        let tool = Tool::parse(text.clone()).ok();
        let schema = tool.as_ref().and_then(|tool| Some((tool.name(), tool.input_schema()?)));
        match schema.map(|(name, schema)| (name, header_params(schema))) {
            Some((name, Err(reason))) => {
                sorted.problems.push(format!("the tool `{name}` is not offered: {reason}"));
                continue;
            }
            Some((name, Ok(params))) if !params.is_empty() => {
                sorted.rules.insert(name.to_owned(), params);
            }
            _ => {}
        }
        sorted.tools.push(text.clone());
    }
    sorted
}
