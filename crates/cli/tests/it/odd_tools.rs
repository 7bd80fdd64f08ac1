//! Definitions of tools that break clients, as servers really write them: the hub lists what every client can read.
//!
//! `tests/interop/odd_tools.json` says of each what becomes of it: `through` is `same` (or nothing), `typed` where the root
//! of its `inputSchema` gets `type: "object"`, `aside` where it is not offered, `any` where that is up to the checks; the
//! fields of `without` are left out.
#![expect(clippy::disallowed_methods, reason = "runs real programs, with an environment made for them")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use toolbay_testkit::harness::{Hub, Programs, Setup};

pub(crate) fn interop() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop")
}

/// What is written about a tool.
pub(crate) struct Odd {
    tool: Value,
    pub(crate) through: String,
    pub(crate) without: Vec<String>,
}

pub(crate) fn odd_tools() -> Result<Vec<Odd>> {
    let written: Vec<Value> = serde_json::from_slice(&std::fs::read(interop().join("odd_tools.json"))?)?;
    let odd = |entry: &Value| Odd {
        tool: entry["tool"].clone(),
        through: entry["through"].as_str().unwrap_or("same").to_owned(),
        without: serde_json::from_value(entry["without"].clone()).unwrap_or_default(),
    };
    Ok(written.iter().map(odd).collect())
}

/// A hub with a server that offers all of them, and one with nothing odd.
fn hub() -> Result<(Hub, TempDir)> {
    let folder = tempfile::Builder::new().prefix("toolbay-").tempdir()?;
    let file = interop().join("odd_tools.json").canonicalize()?.display().to_string();
    let programs = Programs::beside(Path::new(env!("CARGO_BIN_EXE_toolbay")))?;
    let setup = Setup::new(programs, folder.path());
    let flags = ["--tools-file", &file];
    let hub = setup.hostile("odd", &flags, serde_json::json!({})).healthy("good").start()?;
    hub.wait_for("odd", "ready")?;
    hub.wait_for("good", "ready")?;
    Ok((hub, folder))
}

#[test]
fn each_is_offered_as_is_written_about_it() -> Result<()> {
    let (hub, _folder) = hub()?;
    let listed = hub.client()?.tools()?;
    let status = hub.run(&["status", "--json"])?;
    let odd = odd_tools()?;
    ensure!(odd.len() >= 40, "{} are too few", odd.len());
    let mut seen =
        listed.iter().filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("odd__")));
    for Odd { tool, through, without } in odd {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        if through == "any" {
            let is_listed = listed.iter().any(|tool| tool["name"] == format!("odd__{name}"));
            if is_listed {
                seen.next();
            }
            continue;
        }
        if through == "aside" {
            ensure!(
                name.is_empty() || status.contains(&format!("\"name\":\"{name}\"")),
                "{name} is not named in {status}"
            );
            continue;
        }
        let mut expected = tool;
        for field in &without {
            ensure!(
                status.contains(&format!("tool `{name}`: `{field}` is removed")),
                "{name}: no note in {status}"
            );
            expected.as_object_mut().context("no object")?.remove(field);
        }
        if through == "typed" {
            expected["inputSchema"]["type"] = "object".into();
        }
        // A client of an older revision, so these differ besides.
        let mut shown = seen.next().with_context(|| format!("{name} is not listed"))?.clone();
        for tool in [&mut expected, &mut shown] {
            for field in ["name", "outputSchema"] {
                tool.as_object_mut().context("no object")?.remove(field);
            }
            for boolean in ["/inputSchema/properties/a"] {
                if let Some(schema) = tool.pointer_mut(boolean)
                    && (schema.is_boolean() || name.ends_with("e_property"))
                {
                    *schema = Value::Null;
                }
            }
        }
        ensure!(shown == expected, "{name} is listed as {shown}");
    }
    ensure!(seen.next().is_none(), "more are listed than written about");
    Ok(())
}

/// Lists the hub with a client library and calls a tool.
fn list_and_call(program: &str, driver: &str, library: &str) -> Result<()> {
    let peers = std::env::var("TOOLBAY_TEST_PEERS")
        .context("TOOLBAY_TEST_PEERS is not set: run `cargo xtask peers`")?;
    let (hub, folder) = hub()?;
    let url = format!("http://{}/mcp", hub.address());
    let mut command = Command::new(Path::new(&peers).join(program));
    command.arg(interop().join(driver)).args([library, &url, "odd__good"]);
    command
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", "/usr/bin:/bin")
        .env("TOOLBAY_TEST_PEERS", &peers);
    let output = command.output().with_context(|| format!("{program} does not run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{library} failed:\n{said}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(printed["text"] == "good", "{printed}");
    let names = |tools: &[Value]| -> Vec<String> {
        let mut names: Vec<String> =
            tools.iter().map(|tool| tool.as_str().unwrap_or_default().to_owned()).collect();
        names.sort_unstable();
        names
    };
    let listed: Vec<Value> = hub.client()?.tools()?.iter().map(|tool| tool["name"].clone()).collect();
    ensure!(names(printed["tools"].as_array().context("no tools")?) == names(&listed), "{printed}");
    Ok(())
}

macro_rules! clients {
    ($($name:ident($program:literal, $driver:literal, $library:literal);)*) => {
        $(#[test]
        fn $name() -> Result<()> {
            list_and_call($program, $driver, $library)
        })*
    };
}

clients! {
    typescript_1_lists_and_calls("bin/node", "list_and_call.mjs", "typescript-1");
    typescript_2_lists_and_calls("bin/node", "list_and_call.mjs", "typescript-2");
    typescript_2_modern_lists_and_calls("bin/node", "list_and_call.mjs", "typescript-2-modern");
    ai_sdk_lists_and_calls("bin/node", "list_and_call.mjs", "ai-sdk");
    python_1_lists_and_calls("python-mcp1/bin/python", "list_and_call.py", "mcp-1");
    python_2_lists_and_calls("python/bin/python", "list_and_call.py", "mcp");
    fastmcp_lists_and_calls("python/bin/python", "list_and_call.py", "fastmcp");
}
