//! Sets to develop the ranking with, from packages that the table does not learn from; in the form of the benchmarks.
//!
//! What a README says about a tool is the query for the tool as the code describes it; what a README says that users may ask is the query for the
//! server as its summary describes it.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{is_held_out, pairs::Package};
use crate::packages::Source;

pub(super) fn write(sources: &[Source], folder: &Path) -> Result<()> {
    let (mut tools, mut steps) = (Vec::new(), Vec::new());
    let (mut servers, mut prompts) = (Vec::new(), Vec::new());
    for source in
        sources.iter().filter(|source| source.package.starts_with("mcp/") && is_held_out(&source.package))
    {
        let Some(package) = Package::read(source)? else { continue };
        let server = package.name.trim_start_matches("mcp/");
        let first = tools.len();
        tools.extend(package.defined.iter().map(|tool| {
            let properties: serde_json::Map<String, Value> =
                tool.parameters.iter().map(|name| (name.clone(), json!({}))).collect();
            let schema = json!({"type": "object", "properties": properties});
            json!({"server": server, "name": tool.name, "description": tool.description, "inputSchema": schema})
        }));
        for tool in &package.listed {
            let at = package.defined.iter().position(|defined| defined.name == tool.name);
            let differs = |at: &usize| !package.defined[*at].description.starts_with(&tool.description);
            if let Some(at) = at.filter(differs) {
                steps.push(json!({"query": tool.description, "relevant": [first + at]}));
            }
        }
        if package.summary.split(' ').count() > 3 {
            for prompt in package.prompts.iter().take(5) {
                prompts.push(json!({"query": prompt, "relevant": [servers.len()]}));
            }
            servers.push(json!({"server": "", "name": server, "description": package.summary}));
        }
    }
    println!(
        "held out: {} tools with {} queries, {} servers with {}",
        tools.len(),
        steps.len(),
        servers.len(),
        prompts.len()
    );
    fs::create_dir_all(folder)?;
    for (name, set) in [
        ("tools", json!({"source": "READMEs and code of packages", "tools": tools, "queries": steps})),
        (
            "servers",
            json!({"source": "READMEs and summaries of packages", "tools": servers, "queries": prompts}),
        ),
    ] {
        let path = folder.join(format!("held-out-{name}.json"));
        fs::write(&path, set.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
