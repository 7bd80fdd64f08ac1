//! Installing the peers from their registries, below `target/bench-peers`; nothing is kept in the repository.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::Places;

const MCP_PROXY_RS: &str = "mcp-proxy@0.6.0";
const MCP_GATEWAY: &str = "mcp-gateway@4.0.0-beta.3";
const NPM: [&str; 2] = ["mcp-proxy@6.7.19", "supergateway@4.0.0"];
/// A range: which release installs depends on what the index at hand has of its dependencies.
const FASTMCP: &str = "fastmcp>=4.1,<5";

/// What exactly is measured under the name of a target, as far as it is not ours.
pub(super) fn version(target: &str, places: &Places) -> Option<String> {
    Some(match target {
        "haproxy" => {
            let output = Command::new("haproxy").arg("-v").output().ok()?;
            String::from_utf8_lossy(&output.stdout).lines().next()?.split(" - ").next()?.to_owned()
        }
        "mcp-proxy-rs" => format!("crates.io {MCP_PROXY_RS}"),
        "mcp-gateway" => format!("crates.io {MCP_GATEWAY}"),
        "mcp-proxy-npm" => format!("npm {}", NPM[0]),
        "supergateway" => format!("npm {}", NPM[1]),
        "fastmcp" => {
            let pip = places.peers.join("py/bin/pip");
            let output = Command::new(pip).args(["list", "--format=freeze"]).output().ok()?;
            let list = String::from_utf8_lossy(&output.stdout).into_owned();
            format!("PyPI {}", list.lines().find(|line| line.starts_with("fastmcp=="))?.replace("==", "@"))
        }
        _ => return None,
    })
}

pub(super) fn haproxy() -> anyhow::Result<()> {
    if Command::new("haproxy").arg("-v").stdout(Stdio::null()).status().is_ok() {
        return Ok(());
    }
    run("installing haproxy", "apt-get", &["install", "-y", "--no-install-recommends", "haproxy"])
        .context("HAProxy is not installed, and apt-get cannot install it (root is needed)")
}

pub(super) fn mcp_proxy_rs(places: &Places) -> anyhow::Result<()> {
    cargo(places, "mcp-proxy", MCP_PROXY_RS)
}

/// Its licence, PolyForm Noncommercial, is why it is only installed on request.
pub(super) fn mcp_gateway(places: &Places) -> anyhow::Result<()> {
    cargo(places, "mcp-gateway", MCP_GATEWAY)
}

pub(super) fn npm(places: &Places) -> anyhow::Result<()> {
    let folder = places.peers.join("npm");
    if NPM.iter().all(|package| {
        let name = package.split('@').next().unwrap_or(package);
        folder.join("node_modules/.bin").join(name).exists()
    }) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder)?;
    let mut args = vec!["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    let prefix = text(&folder);
    args.push(&prefix);
    args.extend(NPM);
    run("installing npm mcp-proxy and supergateway", "nice", &args)
}

pub(super) fn fastmcp(places: &Places) -> anyhow::Result<()> {
    let venv = places.peers.join("py");
    if venv.join("bin/fastmcp").exists() {
        return Ok(());
    }
    run("making a Python environment", "python3", &["-m", "venv", &text(&venv)])?;
    let pip = text(&venv.join("bin/pip"));
    run("installing PyPI fastmcp", "nice", &[&pip, "install", "--quiet", FASTMCP])
}

fn cargo(places: &Places, program: &str, package: &str) -> anyhow::Result<()> {
    let root = places.peers.join("cargo");
    if root.join("bin").join(program).exists() {
        return Ok(());
    }
    let (root, build) = (text(&root), text(&places.peers.join("build")));
    let args = [
        env!("CARGO"),
        "install",
        "--locked",
        "--quiet",
        "--root",
        &root,
        "--target-dir",
        &build,
        "--bin",
        program,
        package,
    ];
    run(&format!("installing {package}, which takes minutes"), "nice", &args)
}

fn run(what: &str, program: &str, args: &[&str]) -> anyhow::Result<()> {
    eprintln!("{what}");
    let output =
        Command::new(program).args(args).output().with_context(|| format!("cannot run {program}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{what} failed: {}", error.trim().lines().last().unwrap_or_default());
    Ok(())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
