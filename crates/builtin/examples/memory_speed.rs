//! How fast the server `memory` is with 10,000 entities of five observations each.
//!
//! `cargo run --release -p toolbay-builtin --example memory_speed`

#![expect(clippy::print_stdout, reason = "this program reports on standard output")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::memory::{MemoryConfig, memory};
use toolbay_transport::{Connection, Incoming};

const ENTITIES: usize = 10_000;
const CALLS: usize = 500;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let config = MemoryConfig { path: directory.path().join("memory.jsonl"), ..MemoryConfig::default() };
    let mut client = Client { connection: memory(config)(&TaskTracker::new()), id: 0 };
    let entity = |number: usize| {
        let observation = |it: usize| {
            format!(
                "observation {it} of {number}: met in room {} to discuss topic{}",
                number % 97,
                number % 501
            )
        };
        let observations: Vec<String> = (0..5).map(observation).collect();
        json!({ "name": format!("entity-{number}"), "entityType": "person", "observations": observations })
    };
    for first in (0..ENTITIES).step_by(1_000) {
        let entities: Vec<Value> = (first..first + 1_000).map(entity).collect();
        client.call("create_entities", json!({ "entities": entities })).await?;
    }
    let search = |number: usize| json!({ "query": format!("topic{} room", number % 501), "limit": 10 });
    println!("first search: {:.1} ms", ms(client.call("search_nodes", search(0)).await?));
    let (mut adds, mut searches, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..CALLS {
        let added = |text: &str| {
            let contents = [format!("{text} {number}")];
            json!({ "observations": [{ "entityName": format!("entity-{}", number * 17 % ENTITIES), "contents": contents }] })
        };
        adds.push(client.call("add_observations", added("added")).await?);
        fresh.push(client.call("search_nodes", search(number)).await?);
        searches.push(client.call("search_nodes", search(number + 7)).await?);
    }
    report("add_observations", adds);
    report("search_nodes after a change", fresh);
    report("search_nodes", searches);
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| ms(times[times.len() * part / 100]);
    println!("{what}: p50 {:.3} ms, p99 {:.3} ms", at(50), at(99));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Client {
    connection: Connection,
    id: u64,
}

impl Client {
    /// Calls a tool and returns how long that took.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Duration, Box<dyn std::error::Error>> {
        self.id += 1;
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params });
        let text = request.to_string();
        let begin = Instant::now();
        self.connection.outgoing.send(text.into()).await?;
        let Some(Incoming::Message(message)) = self.connection.incoming.recv().await else {
            return Err("the server is gone".into());
        };
        let time = begin.elapsed();
        let response: Value = serde_json::from_slice(message.text())?;
        match response["result"]["isError"] == true || response["error"].is_object() {
            true => Err(response.to_string().into()),
            false => Ok(time),
        }
    }
}
