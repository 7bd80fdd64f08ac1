//! Clients that are slow, that do not read, and thousands of clients.

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_testkit::harness::{Client, Hub, Setup, wait_until};

use super::{Bystander, Scene, folder, programs};

const KIB: u64 = 1024;

#[test]
fn f21_heads_that_trickle_are_closed_in_time() -> Result<()> {
    const EACH: usize = 125;
    let scene = Scene::new(&[], json!({}))?;
    let address = scene.hub.address();
    // HTTP/1.1 that never gets to its empty line, HTTP/2 that never gets through its preface, a request that begins
    // like it, and silence.
    let heads =
        ["GET /mcp HTTP/1.1\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaaaaa", "PRI * HTTP/2.0\r\n\r\nSM", "P", ""];
    let mut slow = Vec::new();
    for _ in 0..EACH {
        for head in heads {
            slow.push(Trickle::open(address, head.as_bytes())?);
        }
    }
    let opened = Instant::now();
    while !slow.is_empty() {
        ensure!(opened.elapsed() < Duration::from_secs(40), "{} of them are still open", slow.len());
        thread::sleep(Duration::from_secs(1));
        slow.retain_mut(Trickle::goes_on);
    }
    ensure!(opened.elapsed() >= Duration::from_secs(8), "closed after {:?}", opened.elapsed());
    scene.end()
}

/// A client that sends a byte in a second.
struct Trickle {
    stream: TcpStream,
    rest: &'static [u8],
}

impl Trickle {
    fn open(address: SocketAddr, head: &'static [u8]) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, rest: head })
    }

    /// Sends its next byte; says whether the connection is still there.
    fn goes_on(&mut self) -> bool {
        if let [next, rest @ ..] = self.rest {
            self.rest = rest;
            if self.stream.write_all(&[*next]).is_err() {
                return false;
            }
        }
        let mut byte = [0];
        let waits = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        self.stream.read(&mut byte).map_or_else(waits, |length| length > 0)
    }
}

#[test]
fn f22_a_client_that_does_not_read_costs_little_and_is_dropped() -> Result<()> {
    for has_session in [true, false] {
        let scene = two_healthy()?;
        let mut client = if has_session { scene.client()? } else { Client::new(scene.hub.address()) };
        if has_session {
            client.request("logging/setLevel", &json!({ "level": "debug" }))?;
        }
        scene.hub.reset_peak();
        let before = scene.hub.rss_kib();
        // 100 MB of log messages, and then nobody reads.
        let arguments = json!({ "count": 1000, "level": "error", "text": "x".repeat(100_000) });
        if has_session {
            client.start_call("bad__log", arguments)?;
        } else {
            client.send(&MODERN_HEADERS, &modern_call("bad__log", &arguments).to_string())?;
        }
        wait_until("it is dropped", || {
            Ok(scene.hub.stderr().contains("a client has read nothing for 15 s").then_some(()))
        })?;
        let rise = scene.hub.peak_kib().saturating_sub(before);
        ensure!(rise <= 40 * KIB, "memory rose by {rise} KiB");
        ensure!(client.receive().is_err(), "the connection is still good");
        drop(client);
        scene.end()?;
    }
    Ok(())
}

/// A hub whose `bad` is a healthy one, too: nothing but a client is wrong.
fn two_healthy() -> Result<Scene> {
    let folder = folder()?;
    let hub = Setup::new(programs()?, folder.path()).healthy("good").healthy("bad").start()?;
    hub.wait_for("good", "ready")?;
    let bystander = Bystander::start(&hub)?;
    let mut scene = Scene { hub, bystander, expected: None, folder };
    scene.settle()?;
    Ok(scene)
}

const MODERN_HEADERS: [(&str, &str); 3] =
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "bad__log")];

fn modern_call(tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "harness", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[test]
fn f27_a_thousand_clients_with_open_streams_are_served() -> Result<()> {
    for flags in [&[][..], &["--modern"][..]] {
        let scene = Scene::new(&[], json!({}))?;
        scene.hub.reset_peak();
        let before = scene.hub.rss_kib();
        let mut arguments = vec!["--idle-sessions", "1000", "--listening", "--seconds", "2"];
        arguments.extend(flags);
        let report = load(&scene.hub, &arguments)?;
        ensure!(report["errors"] == 0 && report["stalled"] == false, "{report}");
        ensure!(report["calls"].as_u64() >= Some(10), "{report}");
        ensure!(report["p99_us"].as_f64() < Some(2e6), "{report}");
        let rise = scene.hub.peak_kib().saturating_sub(before);
        ensure!(rise < 1000 * 100, "{rise} KiB for 1,000 clients");
        scene.end()?;
    }
    Ok(())
}

#[test]
fn f27_sessions_that_were_never_used_make_room_above_the_cap() -> Result<()> {
    let scene = Scene::new(&[], json!({}))?;
    // The bystander has one.
    load(&scene.hub, &["--idle-sessions", "9999"])?;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let reply = Client::new(scene.hub.address()).post(&hello.to_string())?;
    ensure!(reply.status == 200, "{reply:?}");
    scene.end()
}

/// Runs the load generator, a process of its own, to its end.
#[expect(clippy::disallowed_methods, reason = "a client; it ends by itself")]
fn load(hub: &Hub, arguments: &[&str]) -> Result<Value> {
    let mut load = Command::new(programs()?.path("toolbay-load"));
    let output = load.args(["--url", &format!("http://{}/mcp", hub.address())]).args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).with_context(|| said.into_owned())
}
