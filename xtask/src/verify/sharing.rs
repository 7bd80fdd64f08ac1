//! Ten clients of four kinds, started together, share one hub and one set of servers: whichever comes first, and when the hub is
//! killed.
//!
//! Some of these clients give what they start no other variables than a few, such as `HOME`: the home directory alone decides which
//! hub is joined.

mod crowd;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Process, kill, wait_until};

use self::crowd::{Crowd, Kind};
use super::clients;
use super::scene::Scene;
use crate::peers;

const SUM_TOOL: &str = "everything__get-sum";
const SUM: &str = "The sum of 1 and 2 is 3.";
/// The servers of the hub: a name, and the package it runs.
const SERVERS: [(&str, &str); 2] = [("everything", "server-everything"), ("memory", "server-memory")];
/// How long the hub stays after its last client.
const LINGER: Duration = Duration::from_secs(2);
/// A variable that the login shell sets, and its value.
const LOGIN_VARIABLE: (&str, &str) = ("VERIFY_LOGIN", "from-the-login-shell");

/// What one round found, as its row shows it.
struct Round {
    environment: BTreeMap<String, String>,
    after_kill: usize,
    errors_in_flight: usize,
    gone_after: Duration,
}

/// The home directory, and where everything is that clients need.
struct Stage {
    scene: Scene,
    clients: PathBuf,
    /// Has a line for each start of a server.
    starts: PathBuf,
}

/// Plays a round for each kind that may come first, and prints a table; fails if anything is not as it must be.
pub(super) fn run(scene: Scene) -> Result<()> {
    let stage = Stage::new(scene)?;
    println!(
        "| first | hub and servers | environment of servers | next call after kill -9 | calls in flight at kill -9 | all gone after |\n\
         |---|---|---|---|---|---|"
    );
    let mut environment = None;
    let kinds = Kind::ALL.into_iter().map(Some);
    for first in [None].into_iter().chain(kinds) {
        let name = first.map_or("all at once", Kind::name);
        let round = stage.round(first).with_context(|| format!("round `{name}`"))?;
        let expected = environment.get_or_insert_with(|| round.environment.clone());
        ensure!(
            *expected == round.environment,
            "round `{name}`: servers see\n{:?}\nand not, as before,\n{expected:?}",
            round.environment
        );
        println!(
            "| {name} | 1 hub, {} servers | {} variables, the same | {} work | {} errors, one each | {:.1} s |",
            SERVERS.len(),
            round.environment.len(),
            round.after_kill,
            round.errors_in_flight,
            round.gone_after.as_secs_f64()
        );
    }
    Ok(())
}

impl Stage {
    fn new(scene: Scene) -> Result<Self> {
        peers::run()?;
        let clients = clients::install()?;
        let starts = scene.home().join("starts");
        let node = clients::node()?;
        let packages = peers::folder()?.join("npm/node_modules/@modelcontextprotocol");
        let mut settings = format!("[hub]\nlinger = \"{}s\"\n", LINGER.as_secs());
        for (name, package) in SERVERS {
            let script = packages.join(package).join("dist/index.js");
            let start =
                format!("echo started >> {}; exec {} {}", starts.display(), node.display(), script.display());
            settings.push_str(&format!(
                "[servers.{name}]\ncommand = 'sh'\nargs = ['-c', '{start}']\ninherit_env = 'all'\n"
            ));
        }
        scene.write(".config/toolbay/toolbay.toml", &settings)?;
        let (variable, value) = LOGIN_VARIABLE;
        for file in [".bash_profile", ".profile", ".zprofile"] {
            scene.write(file, &format!("export {variable}={value}\n"))?;
        }
        Ok(Self { scene, clients, starts })
    }

    fn round(&self, first: Option<Kind>) -> Result<Round> {
        let _ = fs::remove_file(&self.starts); // there is none before the first round
        let mut crowd = Crowd::start(self, first)?;
        crowd.all_call(SUM_TOOL, &json!({ "a": 1, "b": 2 }), |text| text == SUM)?;
        crowd.inspectors_work()?;
        let hub = self.one_hub_and_set_of_servers()?;
        let starts = fs::read_to_string(&self.starts)?.lines().count();
        ensure!(starts == SERVERS.len(), "{starts} servers were started instead of {}", SERVERS.len());
        let environment = self.environment_of_servers(&mut crowd)?;

        kill(hub)?;
        crowd.add_inspector(self)?;
        let after_kill = crowd.all_call(SUM_TOOL, &json!({ "a": 1, "b": 2 }), |text| text == SUM)?;
        let after_kill = after_kill + crowd.inspectors_work()?;
        let second = self.one_hub_and_set_of_servers()?;
        ensure!(second != hub, "the hub was not killed");

        let in_flight =
            crowd.all_send("everything__trigger-long-running-operation", &json!({ "duration": 600 }))?;
        // These are at the server once something that was sent later is answered.
        crowd.all_call(SUM_TOOL, &json!({ "a": 1, "b": 2 }), |text| text == SUM)?;
        kill(second)?;
        let errors_in_flight = crowd.all_fail(&in_flight)?;
        crowd.all_call(SUM_TOOL, &json!({ "a": 1, "b": 2 }), |text| text == SUM)?;
        self.one_hub_and_set_of_servers()?;
        crowd.leave()?;

        let left = Instant::now();
        wait_until("the hub and its servers are gone", || {
            Ok((self.hubs().is_empty() && self.servers().is_empty()).then_some(()))
        })?;
        let gone_after = left.elapsed();
        ensure!(gone_after > LINGER / 2, "the hub did not wait for its delay");
        Ok(Round { environment, after_kill, errors_in_flight, gone_after })
    }

    /// Waits until what a killed hub left is gone, and gives the hub that is there.
    fn one_hub_and_set_of_servers(&self) -> Result<u32> {
        wait_until("one set of servers", || Ok((self.servers().len() == SERVERS.len()).then_some(())))?;
        match self.hubs()[..] {
            [hub] => Ok(hub),
            ref hubs => anyhow::bail!("{} hubs run: {hubs:?}", hubs.len()),
        }
    }

    /// What the servers see, which is the same for every client.
    fn environment_of_servers(&self, crowd: &mut Crowd) -> Result<BTreeMap<String, String>> {
        let mut seen = Vec::new();
        crowd.all_call("everything__get-env", &json!({}), |text| {
            seen.push(text.to_owned());
            true
        })?;
        ensure!(
            seen.iter().all(|text| *text == seen[0]),
            "clients are told different environments: {seen:?}"
        );
        ensure!(!seen[0].contains(super::SECRET), "a server sees a variable of a client");
        let mut environment: BTreeMap<String, String> = serde_json::from_str(&seen[0])?;
        // These tell one hub and one start of a server from another.
        environment.retain(|name, _| !name.starts_with("TOOLBAY_") && name != "SUPERVISED_LAUNCH");
        let (variable, value) = LOGIN_VARIABLE;
        let login = environment.get(variable);
        ensure!(login.is_some_and(|login| login == value), "{variable} of the login shell is {login:?}");
        Ok(environment)
    }

    fn hubs(&self) -> Vec<u32> {
        self.ours(|process| process.arguments.get(1).is_some_and(|argument| argument == "__hub"))
    }

    fn servers(&self) -> Vec<u32> {
        self.ours(|process| {
            process.arguments.get(1).is_some_and(|argument| {
                SERVERS.iter().any(|(_, package)| argument.ends_with(&format!("/{package}/dist/index.js")))
            })
        })
    }

    /// Clients that reach the hub.
    fn relays(&self) -> Vec<u32> {
        self.ours(|process| process.arguments.get(1).is_some_and(|argument| argument == "stdio"))
    }

    fn ours(&self, is: impl Fn(&Process) -> bool) -> Vec<u32> {
        self.scene.processes().iter().filter(|process| is(process)).map(|process| process.pid).collect()
    }

    /// How a client starts Toolbay.
    fn target(&self) -> [String; 2] {
        [self.scene.toolbay().display().to_string(), "stdio".to_owned()]
    }
}

/// The request of a call.
fn call(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}
