//! Benchmarks of tool search, as files.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toolbay_toolsearch::ToolText;

/// Tools, and queries for them.
#[derive(Debug)]
pub(crate) struct Set {
    pub(super) name: String,
    pub(super) tools: Vec<ToolText>,
    pub(super) queries: Vec<Queries>,
}

/// Queries of one sort.
#[derive(Debug)]
pub(crate) struct Queries {
    pub(super) name: String,
    pub(super) queries: Vec<Query>,
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) text: String,
    /// Places of the tools that it needs.
    pub(super) relevant: Vec<usize>,
}

/// Reads every `*.json` of a folder.
pub(crate) fn sets(folder: &Path) -> Result<Vec<Set>> {
    let hint =
        "the benchmarks are not part of this repository: docs/tool-search.md says where they come from";
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}; {hint}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    if files.is_empty() {
        bail!("no *.json in {}; {hint}", folder.display());
    }
    files.iter().map(|file| read(file).with_context(|| format!("cannot read {}", file.display()))).collect()
}

fn read(file: &Path) -> Result<Set> {
    let content: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let content = content.as_object().context("not an object")?;
    let tools = content.get("tools").and_then(Value::as_array).context("no `tools`")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tools = tools.iter().map(|tool| {
        ToolText::from_definition(&text(&tool["name"]), &text(&tool["server"]), &tool.to_string())
    });
    let lists = content
        .iter()
        .filter(|(name, _)| *name != "tools")
        .filter_map(|(name, list)| Some((name, list.as_array()?)));
    let queries = lists.map(|(name, list)| Queries {
        name: name.clone(),
        queries: list
            .iter()
            .map(|query| {
                let relevant = query["relevant"].as_array().into_iter().flatten();
                let relevant = relevant.filter_map(Value::as_u64).map(|place| place as usize).collect();
                Query { text: text(&query["query"]), relevant }
            })
            .collect(),
    });
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Set { name, tools: tools.collect(), queries: queries.collect() })
}

impl Set {
    /// Every description and query.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let queries =
            self.queries.iter().flat_map(|queries| &queries.queries).map(|query| query.text.as_str());
        self.tools.iter().map(|tool| tool.description.as_str()).chain(queries)
    }
}
