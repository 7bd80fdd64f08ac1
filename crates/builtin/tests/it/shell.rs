//! The server `shell`. What its sandbox stops is tested with the sandbox.

mod bash; // a shell that stays
mod contracts; // the same as published servers
mod exec; // programs: input, output, limits
mod leftovers; // processes after timeouts, cancellation and kills
mod sessions; // programs that go on running

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::shell::{ShellConfig, ShellToolset};
use toolbay_results::ResultStore;
use toolbay_sandbox::{Helper, Level, probe};
use toolbay_supervise::Shim;

use crate::client::Client;

const HOST: &str = env!("CARGO_BIN_EXE_builtin-test-host");

/// All levels that this system has.
fn levels() -> Vec<Level> {
    let best = probe(&Helper::program(HOST));
    let levels: Vec<Level> = [Level::None, Level::Partial, Level::Full].into_iter().collect();
    let (tested, skipped): (Vec<_>, Vec<_>) = levels.into_iter().partition(|level| *level <= best.level);
    if !skipped.is_empty() {
        assert!(!has_namespaces(), "there are namespaces, and yet: {:?}", best.reason);
        eprintln!("not tested at {skipped:?}: {:?}", best.reason);
    }
    tested
}

/// Whether all namespaces of a full sandbox can be made. Another program tries it, so that a defect of ours is not taken for
/// a system without them.
#[expect(clippy::disallowed_methods, reason = "the test asks the system")]
fn has_namespaces() -> bool {
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "true"]);
    unshare.output().is_ok_and(|output| output.status.success())
}

fn config(directory: &Path, sandbox: Level, toolset: ShellToolset) -> ShellConfig {
    ShellConfig {
        toolset,
        sandbox,
        helper: Helper::program(if sandbox == Level::Partial { without_namespaces() } else { HOST.into() }),
        shim: Shim::program(HOST),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        ..ShellConfig::new(directory.canonicalize().unwrap())
    }
}

/// A helper as on a system without user namespaces.
fn without_namespaces() -> PathBuf {
    static SCRIPT: LazyLock<TempDir> = LazyLock::new(|| {
        let directory = tempfile::tempdir().unwrap();
        let refuse = "echo 'toolbay: cannot build the sandbox: no user namespaces' >&2; exit 125";
        let script = format!("#!/bin/sh\ncase $3 in *'\"full\"'*) {refuse};; esac\nexec '{HOST}' \"$@\"\n");
        let path = directory.path().join("helper");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        directory
    });
    SCRIPT.path().join("helper")
}

/// A project and a place for long results.
struct Project {
    directory: TempDir,
    results: TempDir,
}

impl Project {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), results: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn config(&self, sandbox: Level, toolset: ShellToolset) -> ShellConfig {
        let results = ResultStore::open(self.results.path()).unwrap();
        ShellConfig { results: Some(results), ..config(self.path(), sandbox, toolset) }
    }

    async fn client(&self, sandbox: Level, toolset: ShellToolset) -> Client {
        Client::new(toolbay_builtin::shell::shell(self.config(sandbox, toolset))).await
    }
}

async fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.request("tools/call", json!({ "name": tool, "arguments": arguments })).await["result"].take()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}
