//! What 12 published servers cost a model, listed whole and searched, and ten tasks that are done either way.
//!
//! The agent has no model (`tests/context/agent.mjs`): each task says which tools are wanted and with what arguments. In the modes that
//! search, a step whose tool is not found fails, and so does a task whose last result is not the expected one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::scene::{Scene, run_for};
use crate::peers::{self, NPM_PINS, virtual_environment};
use crate::verify::clients::node;
use crate::workspace::{command, must, root};

const LIMIT: Duration = Duration::from_secs(600);
/// How many tools the servers have at least.
const LEAST_TOOLS: u64 = 150;
/// How many tokens the tools of the hub may take together.
const MOST_OWN_TOKENS: u64 = 600;

/// How the agent works, and the exposure of its hub.
const MODES: [(&str, &str); 3] = [("all", "all"), ("search", "search"), ("activate", "search")];

/// Measures all modes and prints two tables; fails if a task fails.
pub(super) fn run(mut scene: impl FnMut() -> Result<Scene>) -> Result<()> {
    peers::run()?;
    let folder = install()?;
    let mut failed = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    println!("| mode | tools listed | bytes / 4 | tokens (o200k) |\n|---|---|---|---|");
    for (mode, exposure) in MODES {
        let lines = measure(&scene()?, &folder, mode, exposure)?;
        let (list, tasks) = lines.split_first().context("the agent printed nothing")?;
        let estimate = list["bytes"].as_u64().unwrap_or(0).div_ceil(4);
        println!("| {mode} | {} | {estimate} | {} |", list["list"], list["tokens"]);
        match mode {
            "all" => {
                ensure!(list["list"].as_u64() >= Some(LEAST_TOOLS), "there are only {} tools", list["list"])
            }
            _ => ensure!(estimate <= MOST_OWN_TOKENS, "the tools of the hub take {estimate} tokens"),
        }
        for (index, task) in tasks.iter().enumerate() {
            if let Some(why) = task["failed"].as_str() {
                failed.push(format!("{mode}: {}: {why}", task["task"]));
            }
            if rows.len() <= index {
                rows.push(vec![task["task"].as_str().unwrap_or_default().to_owned()]);
            }
            let result = if task["failed"].is_null() { "" } else { ", FAILED" };
            rows[index].push(format!("{} in {}{result}", task["read"], task["turns"]));
        }
        let read: u64 = tasks.iter().filter_map(|task| task["read"].as_u64()).sum();
        let largest = tasks.iter().filter_map(|task| task["largest"].as_u64()).max();
        println!("|   | all tasks read | {read} | largest request {} |", largest.unwrap_or(0));
    }
    println!("\n| task: tokens read in requests | all | search | activate |\n|---|---|---|---|");
    for row in &rows {
        println!("| {} |", row.join(" | "));
    }
    ensure!(failed.is_empty(), "{} tasks failed\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

/// Does all tasks in one mode, with servers and files of their own.
fn measure(scene: &Scene, folder: &Path, mode: &str, exposure: &str) -> Result<Vec<Value>> {
    let work = scene.work();
    let repository = work.join("repo");
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.org"],
        &["commit", "--quiet", "--allow-empty", "--message=first"],
    ] {
        fs::create_dir_all(&repository)?;
        must(scene.command("git").current_dir(&repository).args(arguments))?;
    }
    scene.write("servers.toml", &configuration(folder, &work, exposure)?)?;
    let config = scene.home().join("servers.toml");
    let (_hub, url) = scene.serve_config(&config)?;
    let ready = run_for(
        {
            let mut status = scene.command(scene.toolbay());
            status.args(["status", "--wait", "--config"]).arg(&config);
            status
        },
        LIMIT,
    )?;
    ensure!(
        ready.succeeded && ready.text.contains("12 ready ·"),
        "not all servers are ready:\n{}",
        ready.text
    );
    if mode == "all" {
        print_estimates(scene, folder, &config)?;
    }
    let mut agent = scene.command(node()?);
    agent.arg(root().join("tests/context/agent.mjs")).args([mode, &url]).arg(&work);
    agent.env("TOOLBAY_TEST_CONTEXT", folder);
    let ran = run_for(agent, LIMIT)?;
    ensure!(ran.succeeded, "the agent failed:\n{}", ran.tail());
    let lines = ran.text.lines().filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.collect())
}

/// Prints how far the estimate is from real tokenizers.
fn print_estimates(scene: &Scene, folder: &Path, config: &Path) -> Result<()> {
    let mut tools = scene.command(scene.toolbay());
    let mut tools = tools.args(["tools", "--json", "--config"]).arg(config).stdout(Stdio::piped()).spawn()?;
    let list = tools.stdout.take().context("stdout is piped")?;
    let mut count = command(node()?);
    count.arg(root().join("tests/context/tokens.mjs")).env("TOOLBAY_TEST_CONTEXT", folder).stdin(list);
    must(&mut count)?;
    ensure!(tools.wait()?.success(), "`toolbay tools` failed");
    Ok(())
}

fn configuration(folder: &Path, work: &Path, exposure: &str) -> Result<String> {
    let node = node()?.display().to_string();
    let (modules, python) = (folder.join("npm/node_modules"), folder.join("python/bin"));
    let script = |path: &str| modules.join(path).display().to_string();
    let program = |name: &str| python.join(name).display().to_string();
    let work_text = work.display().to_string();
    let official = |name: &str| script(&format!("@modelcontextprotocol/server-{name}/dist/index.js"));
    let servers: [(&str, String, Vec<String>); 12] = [
        ("everything", node.clone(), vec![official("everything"), "stdio".to_owned()]),
        ("filesystem", node.clone(), vec![official("filesystem"), work_text.clone()]),
        ("memory", node.clone(), vec![official("memory")]),
        ("github", node.clone(), vec![official("github")]),
        ("playwright", node.clone(), vec![script("@playwright/mcp/cli.js")]),
        ("chrome", node.clone(), vec![script("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js")]),
        ("notion", node.clone(), vec![script("@notionhq/notion-mcp-server/bin/cli.mjs")]),
        ("kubernetes", node, vec![script("mcp-server-kubernetes/dist/index.js")]),
        ("git", program("mcp-server-git"), vec!["--repository".to_owned(), format!("{work_text}/repo")]),
        ("time", program("mcp-server-time"), Vec::new()),
        ("excel", program("excel-mcp-server"), vec!["stdio".to_owned()]),
        ("word", program("word_mcp_server"), Vec::new()),
    ];
    let mut text = format!("[hub]\nexposure = '{exposure}'\n");
    for (name, program, args) in servers {
        let args: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        text.push_str(&format!("[servers.{name}]\ncommand = '{program}'\nargs = [{}]\n", args.join(", ")));
        text.push_str(&format!("env = {{ MEMORY_FILE_PATH = '{work_text}/memory.jsonl', NOTION_TOKEN = 'none', GITHUB_PERSONAL_ACCESS_TOKEN = 'none' }}\n"));
    }
    Ok(text)
}

/// Installs the servers and the tokenizer below `target/context`.
fn install() -> Result<PathBuf> {
    let from = root().join("tests/context");
    let folder = peers::folder()?.with_file_name("context");
    peers::install(&from, &folder, "npm", &NPM_PINS, peers::npm)?;
    peers::install(&from, &folder, "python", &["requirements.txt"], |from, into| {
        virtual_environment(&from.join("requirements.txt"), into)
    })?;
    Ok(folder)
}
