//! A configuration that changes while the hub runs.

use std::{fs, path::PathBuf, thread::sleep, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_testkit::harness::{Hub, Setup, wait_until};

use super::{Bystander, folder, programs, says};

/// A hub with `good` and `other`, and its file.
struct Edited {
    hub: Hub,
    bystander: Bystander,
    file: PathBuf,
    text: String,
    _folder: TempDir,
}

impl Edited {
    fn start(more: usize) -> Result<Self> {
        let folder = folder()?;
        let mut setup = Setup::new(programs()?, folder.path()).healthy("good").healthy("other");
        for number in 0..more {
            setup = setup.healthy(&format!("more{number}"));
        }
        let hub = setup.start()?;
        wait_until("all are ready", || {
            let health = hub.health()?;
            let servers = health["servers"].as_array().context("no servers")?;
            Ok(servers.iter().all(|server| server["state"] == "ready").then_some(()))
        })?;
        let bystander = Bystander::start(&hub)?;
        let file = hub.folder().join("mcp.json");
        let text = fs::read_to_string(&file)?;
        Ok(Self { hub, bystander, file, text, _folder: folder })
    }

    /// The file with something changed in it.
    fn with(&self, change: impl FnOnce(&mut Value)) -> Result<String> {
        let mut config: Value = serde_json::from_str(&self.text)?;
        change(&mut config["mcpServers"]);
        Ok(config.to_string())
    }

    fn starts(&self) -> Result<u64> {
        let health = self.hub.health()?;
        let servers = health["servers"].as_array().context("no servers")?;
        Ok(servers.iter().filter_map(|server| server["starts"].as_u64()).sum())
    }

    fn end(mut self) -> Result<()> {
        self.bystander.leave()?;
        self.hub.stop()?;
        Ok(())
    }
}

#[test]
fn f28_half_written_files_change_nothing() -> Result<()> {
    let edited = Edited::start(0)?;
    let before = edited.starts()?;
    let half = edited.text.len() / 2;
    // Half of it, and long enough after that the rest.
    fs::write(&edited.file, &edited.text[..half])?;
    wait_until("it is told", || Ok(edited.hub.stderr().contains("stays in effect").then_some(())))?;
    fs::write(&edited.file, &edited.text)?;
    wait_until("it is well again", || Ok(edited.hub.stderr().contains("is valid again").then_some(())))?;
    // As editors do it.
    let draft = edited.file.with_extension("new");
    fs::write(&draft, &edited.text)?;
    fs::rename(&draft, &edited.file)?;
    fs::write(&edited.file, "")?;
    sleep(Duration::from_millis(50));
    fs::write(&edited.file, &edited.text)?;
    sleep(Duration::from_secs(2));
    ensure!(edited.starts()? == before, "something was restarted: {}", edited.hub.stderr());
    edited.end()
}

#[test]
fn f29_mistakes_are_reported_with_their_location_and_the_last_valid_state_stays() -> Result<()> {
    let edited = Edited::start(0)?;
    let before = edited.starts()?;
    for (mistake, told) in [
        ("{\n  \"mcpServers\": {\n    oops\n", "mcp.json:3:5"),
        ("{\"mcpServers\": {\"good\": {\"comand\": \"x\"}}}", "server `good`"),
    ] {
        fs::write(&edited.file, mistake)?;
        wait_until(told, || Ok(edited.hub.stderr().contains(told).then_some(())))?;
        ensure!(edited.hub.run(&["status"]).is_ok(), "it goes on all the same");
        fs::write(&edited.file, &edited.text)?;
        wait_until("it is well again", || {
            let said = edited.hub.stderr();
            Ok(said
                .rsplit_once(told)
                .is_some_and(|(_, after)| after.contains("is valid again"))
                .then_some(()))
        })?;
    }
    ensure!(edited.starts()? == before, "something was restarted: {}", edited.hub.stderr());
    edited.end()
}

/// Acceptance check 11 with real processes.
#[test]
fn f30_an_edit_of_one_of_fifty_restarts_one() -> Result<()> {
    let edited = Edited::start(48)?;
    let before = edited.starts()?;
    ensure!(before == 50, "{before} starts");
    let mut client = edited.hub.client()?;
    client.start_call("other__sleep", json!({ "ms": 2500 }))?;
    edited.hub.wait_until("other", "has a call", |other| other["counts"]["in_flight"] == 1)?;
    let old = edited.hub.server("other")?["pid"].clone();
    let changed = edited.with(|servers| servers["other"]["env"]["NEW"] = json!("1"))?;
    fs::write(&edited.file, changed)?;
    edited.hub.wait_until("other", "is another process", |other| {
        other["state"] == "ready" && other["pid"] != old && !other["pid"].is_null()
    })?;
    // The call that ran finishes on the old process.
    let answer = client.receive()?.messages.concat();
    says(&answer, &["result"])?;
    ensure!(client.text("other__echo", json!({ "text": "new" }))? == "new");
    let health = edited.hub.health()?;
    let servers = health["servers"].as_array().context("no servers")?;
    ensure!(servers.iter().all(|server| server["starts"] == 1), "others were restarted: {health}");
    drop(client);
    edited.end()
}

#[test]
fn servers_come_and_go_with_their_entries() -> Result<()> {
    let edited = Edited::start(0)?;
    let mut client = edited.hub.client()?;
    let names = |tools: &[Value]| tools.iter().map(|tool| tool["name"].to_string()).collect::<String>();
    fs::write(
        &edited.file,
        edited.with(|servers| {
            servers["new"] = servers["other"].clone();
            servers["other"]["disabled"] = json!(true);
        })?,
    )?;
    wait_until("it is there", || Ok(edited.hub.server("new").ok().filter(|new| new["state"] == "ready")))?;
    edited.hub.wait_for("other", "disabled")?;
    wait_until("the list says so", || {
        let names = names(&client.tools()?);
        Ok((names.contains("new__") && !names.contains("other__")).then_some(()))
    })?;
    fs::write(&edited.file, &edited.text)?;
    edited.hub.wait_for("other", "ready")?;
    wait_until("it is gone", || Ok(edited.hub.server("new").is_err().then_some(())))?;
    drop(client);
    edited.end()
}
