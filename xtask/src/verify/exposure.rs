//! Published coding agents whose hub hides tools: how many definitions their models read, and that they find and call what is hidden.
//!
//! Their model (`tests/clients/model.mjs`) counts the definitions in each request. Claude Code is also tried without permission to use
//! any tool: what it would have asked for names the tool that is called.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::clients::{Stage, agents};
use super::scene::{Scene, run_for};
use crate::workspace::{command, output};

/// The modes, and how many of their tools an agent that does not defer tools reads.
const MODES: [&str; 3] = ["all", "search", "auto"];
/// The name of the hidden tool.
const TOOL: &str = "everything__get-sum";

/// Tries every agent in every mode and prints a table; fails if one of them does not call the tool.
pub(super) fn run(mut scene: impl FnMut() -> Result<Scene>) -> Result<()> {
    println!(
        "| exposure | client | tools of the hub in the first request | bytes / 4 | in the last | result |"
    );
    println!("|---|---|---|---|---|---|");
    let mut failed = Vec::new();
    for mode in MODES {
        // A budget that three servers exceed.
        let hub = format!("[hub]\nexposure = '{mode}'\nexposure_budget = 1000\n");
        let stage = Stage::with_hub(scene()?, &hub)?;
        for case in agents::exposure_cases(&stage, "http")? {
            requests(&stage)?;
            let ran = run_for(case.command, super::clients::LIMIT)?;
            let requests = requests(&stage)?;
            let works = ran.in_time && ran.text.contains(case.expected);
            let (first, last) = (requests.first(), requests.last());
            let count =
                |request: Option<&Value>| request.map_or(0, |request| request["tools"].as_u64().unwrap_or(0));
            let bytes = first.map_or(0, |request| request["bytes"].as_u64().unwrap_or(0));
            let result = if works { "works" } else { "FAILS" };
            println!(
                "| {mode} | {} | {} | {} | {} | {result} |",
                case.client,
                count(first),
                bytes.div_ceil(4),
                count(last)
            );
            if !works {
                let tail = ran.tail();
                failed.push(format!(
                    "{mode}, {}: no {:?} in:\n{tail}\n{requests:?}",
                    case.client, case.expected
                ));
            }
        }
        let denied = run_for(agents::claude_code_without_permission(&stage)?, super::clients::LIMIT)?;
        ensure!(denied.in_time, "Claude Code did not end:\n{}", denied.tail());
        let names = denials(&denied.text);
        println!("| {mode} | Claude Code asks for | {} | | | |", names.join(", "));
        ensure!(
            names.iter().any(|name| name.contains(TOOL)),
            "no permission names the tool:\n{}",
            denied.tail()
        );
    }
    ensure!(failed.is_empty(), "{} cases failed\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

/// The requests to the model since the last time that list tools of the hub.
fn requests(stage: &Stage) -> Result<Vec<Value>> {
    let text = output(command("curl").args(["--silent", &format!("{}/requests", stage.model)]))?;
    let all: Vec<Value> =
        serde_json::from_str(&text).with_context(|| format!("the model answered {text:?}"))?;
    Ok(all.into_iter().filter(|request| request["tools"] != 0).collect())
}

/// What permission was asked for: names of tools, with the tool that is called through them.
fn denials(text: &str) -> Vec<String> {
    let results = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let denials =
        results.flat_map(|result| result["permission_denials"].as_array().cloned().unwrap_or_default());
    let name = |denial: Value| {
        let inner = denial["tool_input"]["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{inner}", denial["tool_name"].as_str().unwrap_or_default())
    };
    denials.map(name).collect()
}
