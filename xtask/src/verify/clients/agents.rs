//! Coding agents, each with a home directory of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Case, SUM, Stage};
use crate::verify::scene::{run_for, write};

/// The prompt of agents; their model does not read it.
const PROMPT: &str = "add 1 and 2";
/// The user's file of opencode.
const OPENCODE: &str = ".config/opencode/opencode.json";
/// How the entry of the hub is called.
const HUB: &str = "hub";

pub(super) fn cases(stage: &Stage) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for transport in ["http", "sse", "stdio"] {
        cases.push(claude_code(stage, transport)?);
        cases.push(gemini(stage, transport)?);
    }
    for transport in ["http", "stdio"] {
        cases.push(codex(stage, transport)?);
        cases.push(opencode(stage, transport)?);
    }
    cases.extend(exported(stage)?);
    Ok(cases)
}

/// Agents that are tried with hidden tools.
pub(in crate::verify) fn exposure_cases(stage: &Stage, transport: &'static str) -> Result<Vec<Case>> {
    Ok(vec![claude_code(stage, transport)?, codex(stage, transport)?, opencode(stage, transport)?])
}

/// Claude Code that may use no tool, and prints what it would have asked for.
pub(in crate::verify) fn claude_code_without_permission(stage: &Stage) -> Result<Command> {
    let (mut command, _) = agent(stage, "claude", "denied")?;
    let servers = json!({ "mcpServers": { HUB: entry(stage, "http") } }).to_string();
    command.args(["--strict-mcp-config", "--mcp-config", &servers, "--output-format", "json"]);
    let Case { mut command, .. } = ask_claude_code(stage, command, "none", "http");
    let search = format!("mcp__{HUB}__search_tools");
    command.args(["--allowedTools", &search]);
    Ok(command)
}

fn claude_code(stage: &Stage, transport: &'static str) -> Result<Case> {
    let (mut command, _) = agent(stage, "claude", transport)?;
    let servers = json!({ "mcpServers": { HUB: entry(stage, transport) } }).to_string();
    command.args(["--strict-mcp-config", "--mcp-config", &servers]);
    Ok(ask_claude_code(stage, command, HUB, transport))
}

fn ask_claude_code(stage: &Stage, mut command: Command, server: &str, transport: &'static str) -> Case {
    command.args(["-p", PROMPT, "--allowedTools", &format!("mcp__{server}")]);
    command.env("ANTHROPIC_BASE_URL", &stage.model).env("ANTHROPIC_API_KEY", "none");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    Case { client: "Claude Code 2.1.197", transport, command, expected: SUM }
}

fn codex(stage: &Stage, transport: &'static str) -> Result<Case> {
    let (mut command, _) = agent(stage, "codex", transport)?;
    let entry = match transport {
        "stdio" => format!("{{command='{}',args=['stdio']}}", stage.toolbay()),
        _ => format!("{{url='{}'}}", stage.url),
    };
    command.args(["exec", "-c", &format!("mcp_servers.{HUB}={entry}")]);
    Ok(ask_codex(stage, command, transport))
}

fn ask_codex(stage: &Stage, mut command: Command, transport: &'static str) -> Case {
    let provider =
        format!("{{name='local',base_url='{}/v1',env_key='MODEL_KEY',wire_api='responses'}}", stage.model);
    command.args(["-c", "model_provider=local", "-c", "model=local", "-c"]);
    command.arg(format!("model_providers.local={provider}"));
    command.args(["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]);
    command.env("MODEL_KEY", "none");
    Case { client: "Codex CLI 0.166.0", transport, command, expected: SUM }
}

fn gemini(stage: &Stage, transport: &'static str) -> Result<Case> {
    let (command, home) = agent(stage, "gemini", transport)?;
    let settings = gemini_settings(json!({ HUB: entry(stage, transport) }));
    write(&home.join(".gemini/settings.json"), &settings)?;
    Ok(ask_gemini(stage, command, transport))
}

fn gemini_settings(servers: Value) -> String {
    json!({ "security": { "auth": { "selectedType": "gemini-api-key" } }, "mcpServers": servers }).to_string()
}

fn ask_gemini(stage: &Stage, mut command: Command, transport: &'static str) -> Case {
    command.args(["--yolo", "--model", "gemini-2.5-flash", "--prompt", PROMPT]);
    command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", &stage.model);
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    Case { client: "Gemini CLI 0.61.0", transport, command, expected: SUM }
}

fn opencode(stage: &Stage, transport: &'static str) -> Result<Case> {
    let (command, home) = agent(stage, "opencode", transport)?;
    let entry = match transport {
        "stdio" => json!({ "type": "local", "command": stage.target("stdio"), "enabled": true }),
        _ => json!({ "type": "remote", "url": stage.url, "enabled": true }),
    };
    write(&home.join(OPENCODE), &opencode_settings(stage, json!({ HUB: entry })))?;
    Ok(ask_opencode(command, transport))
}

fn opencode_settings(stage: &Stage, servers: Value) -> String {
    let options = json!({ "baseURL": format!("{}/v1", stage.model), "apiKey": "none" });
    let models = json!({ "local": { "name": "local", "tool_call": true } });
    let provider =
        json!({ "npm": "@ai-sdk/openai-compatible", "name": "local", "options": options, "models": models });
    json!({ "model": "local/local", "provider": { "local": provider }, "mcp": servers }).to_string()
}

fn ask_opencode(mut command: Command, transport: &'static str) -> Case {
    command.args(["run", PROMPT]);
    Case { client: "opencode 1.18.33", transport, command, expected: SUM }
}

/// Agents that read what `toolbay export --write` wrote for them.
fn exported(stage: &Stage) -> Result<Vec<Case>> {
    let how = "stdio, by `export`";
    let export = |client: &str, program: &str| -> Result<(Command, PathBuf)> {
        let (command, home) = agent(stage, program, "export")?;
        if client == "gemini" {
            write(&home.join(".gemini/settings.json"), &gemini_settings(json!({})))?;
        }
        if client == "opencode" {
            write(&home.join(OPENCODE), &opencode_settings(stage, json!({})))?;
        }
        let mut export = stage.scene.command(stage.scene.toolbay());
        export.current_dir(&home).env("HOME", &home).args(["export", "--client", client, "--write"]);
        let ran = run_for(export, super::LIMIT)?;
        anyhow::ensure!(ran.succeeded, "`toolbay export --client {client}` failed: {}", ran.tail());
        Ok((command, home))
    };
    let (claude, _) = export("claude-code", "claude")?;
    let (mut codex, _) = export("codex", "codex")?;
    codex.arg("exec");
    let (gemini, _) = export("gemini", "gemini")?;
    let (opencode, _) = export("opencode", "opencode")?;
    Ok(vec![
        ask_claude_code(stage, claude, "toolbay", how),
        ask_codex(stage, codex, how),
        ask_gemini(stage, gemini, how),
        ask_opencode(opencode, how),
    ])
}

/// An agent in a home directory of its own, which is also where it runs, with the user's configuration of Toolbay.
fn agent(stage: &Stage, program: &str, case: &str) -> Result<(Command, PathBuf)> {
    let home = stage.scene.home().join(format!("{program}-{case}"));
    let configuration = home.join(".config/toolbay");
    fs::create_dir_all(&configuration).with_context(|| format!("cannot make {}", configuration.display()))?;
    fs::copy(stage.scene.home().join(".config/toolbay/toolbay.toml"), configuration.join("toolbay.toml"))?;
    let mut command = stage.scene.command(stage.clients.join("npm/node_modules/.bin").join(program));
    command.current_dir(&home).env("HOME", &home);
    Ok((command, home))
}

/// The entry of the hub, as most clients write it.
fn entry(stage: &Stage, transport: &str) -> Value {
    match transport {
        "stdio" => json!({ "command": stage.toolbay(), "args": ["stdio"] }),
        _ => json!({ "type": transport, "url": stage.target(transport)[0] }),
    }
}
