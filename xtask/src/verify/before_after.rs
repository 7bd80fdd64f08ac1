//! What users notice most, with an older program and with this one: the first call, commands while a server hangs, and the memory
//! of ten clients.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolbay_bench::{median, pss_kib};
use toolbay_testkit::harness::Pipe;

use super::clients;
use super::scene::{Scene, run_for};
use crate::peers;
use crate::workspace::{cargo, must, target};

const USER_FILE: &str = ".config/toolbay/toolbay.toml";
/// How often everything is timed.
const TIMES: usize = 10;
const CLIENTS: usize = 10;
const LIMIT: Duration = Duration::from_secs(60);
/// What takes longer is not timed again.
const LONG: Duration = Duration::from_secs(5);
/// What servers need only to start is given back by then.
const SETTLED: Duration = Duration::from_secs(5);
/// A call that each of the five servers answers at once.
const CALLS: [(&str, &str); 5] = [
    ("everything__get-sum", r#"{"a":1,"b":2}"#),
    ("memory__read_graph", "{}"),
    ("filesystem__list_allowed_directories", "{}"),
    ("time__get_current_time", r#"{"timezone":"UTC"}"#),
    ("git__git_status", r#"{"repo_path":"."}"#),
];

/// Times something with the program of a scene.
type Measure = fn(&Scene) -> Result<Duration>;

/// The two programs.
struct Programs {
    before: PathBuf,
    after: PathBuf,
}

/// What ten clients and their servers need, in KiB.
struct Memory {
    processes: usize,
    toolbay: u64,
    servers: u64,
}

/// Prints a table of both programs.
pub(super) fn run(after: &Path, before: &Path) -> Result<()> {
    must(&mut cargo(&[
        "build",
        "--release",
        "--quiet",
        "--package",
        "toolbay-testkit",
        "--package",
        "toolbay-bench",
    ]))?;
    peers::run()?;
    let programs = Programs { before: before.to_owned(), after: after.to_owned() };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "Medians of {TIMES}; load of the machine before: {}",
        load.split(' ').next().unwrap_or_default()
    );
    println!("\n| | before | after |\n|---|---|---|");
    let rows: [(&str, Measure); 6] = [
        ("first call, `toolbay stdio`, no hub runs, the first time ever", |scene| {
            scene.write(USER_FILE, &echo()?)?;
            first_call(scene, &["stdio"])
        }),
        ("first call, `toolbay stdio`, no hub runs", |scene| {
            scene.write(USER_FILE, &echo()?)?;
            first_call(scene, &["stdio"])?;
            scene.end_processes();
            first_call(scene, &["stdio"])
        }),
        ("first call, `toolbay stdio`, a hub runs", |scene| {
            scene.write(USER_FILE, &echo()?)?;
            let _hub = scene.serve()?;
            first_call(scene, &["stdio"])?;
            first_call(scene, &["stdio"])
        }),
        ("first call, `toolbay stdio --alone`", |scene| {
            scene.write(USER_FILE, &echo()?)?;
            first_call(scene, &["stdio", "--alone"])
        }),
        ("`toolbay tools` while a server hangs", |scene| command(scene, &["tools"])),
        ("`toolbay logs` of a server that hangs", |scene| command(scene, &["logs", "hanging"])),
    ];
    for (name, measure) in rows {
        let [before, after] = programs.medians(measure).with_context(|| format!("cannot measure: {name}"))?;
        println!("| {name} | {before} | {after} |");
    }
    println!(
        "\n| ten clients, five servers | processes | PSS of Toolbay | PSS of servers | together |\n|---|---|---|---|---|"
    );
    for (name, program, args) in [
        ("before, separate (`--alone`)", before, &["stdio", "--alone"][..]),
        ("after, separate (`--alone`)", after, &["stdio", "--alone"]),
        ("after, shared", after, &["stdio"]),
    ] {
        let of = memory(program, args).with_context(|| format!("cannot measure: {name}"))?;
        println!(
            "| {name} | {} | {:.1} MiB | {:.1} MiB | {:.1} MiB |",
            of.processes,
            mib(of.toolbay),
            mib(of.servers),
            mib(of.toolbay + of.servers)
        );
    }
    Ok(())
}

impl Programs {
    /// Measures both in turn, each time in an empty home directory, and gives the medians as text.
    fn medians(&self, measure: Measure) -> Result<[String; 2]> {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..TIMES {
            for (program, times) in [&self.before, &self.after].into_iter().zip(&mut times) {
                if times.last().is_none_or(|last| *last < LONG) {
                    times.push(measure(&Scene::new(Some(program))?)?);
                }
            }
        }
        Ok(times.map(|times| {
            let middle = median(times.iter().map(Duration::as_secs_f64)).unwrap_or_default();
            if middle < LIMIT.as_secs_f64() {
                format!("{:.1} ms", middle * 1e3)
            } else {
                format!("over {} s", LIMIT.as_secs())
            }
        }))
    }
}

/// From the start of the program to the first result of a call.
fn first_call(scene: &Scene, args: &[&str]) -> Result<Duration> {
    let start = Instant::now();
    let mut client = connect(scene, args)?;
    call(&mut client, "echo__echo", r#"{"payload":"hello"}"#)?;
    Ok(start.elapsed())
}

/// How long a command takes beside a hub that has a server which hangs.
fn command(scene: &Scene, args: &[&str]) -> Result<Duration> {
    let hostile = target()?.join("release/toolbay-hostile");
    let hanging =
        format!("[servers.hanging]\ncommand = '{}'\nargs = ['--never-initialize']\n", hostile.display());
    scene.write(USER_FILE, &(echo()? + &hanging))?;
    let _hub = scene.serve()?;
    first_call(scene, &["stdio"])?;
    let mut command = scene.command(scene.toolbay());
    command.args(args);
    let ran = run_for(command, LIMIT)?;
    ensure!(ran.succeeded || !ran.in_time, "`toolbay {}` failed: {}", args.join(" "), ran.tail());
    Ok(ran.took)
}

fn memory(program: &Path, args: &[&str]) -> Result<Memory> {
    let scene = Scene::new(Some(program))?;
    scene.write(USER_FILE, &five_servers()?)?;
    let mut clients = (0..CLIENTS).map(|_| connect(&scene, args)).collect::<Result<Vec<_>>>()?;
    for client in &mut clients {
        for (tool, arguments) in CALLS {
            call(client, tool, arguments)?;
        }
    }
    std::thread::sleep(SETTLED);
    let processes = scene.processes();
    let mut memory = Memory { processes: processes.len(), toolbay: 0, servers: 0 };
    for process in processes {
        let program = std::fs::read_link(format!("/proc/{}/exe", process.pid));
        let is_toolbay = program.is_ok_and(|program| program == scene.toolbay());
        *if is_toolbay { &mut memory.toolbay } else { &mut memory.servers } += pss_kib(process.pid);
    }
    Ok(memory)
}

/// A client that has made its handshake, without waiting for it.
fn connect(scene: &Scene, args: &[&str]) -> Result<Pipe> {
    let mut command = scene.command(scene.toolbay());
    command.args(args);
    let mut client = Pipe::start(command)?;
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "verify", "version": "1" },
    });
    client.send(
        &json!({ "jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params })
            .to_string(),
    )?;
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())?;
    Ok(client)
}

/// Calls until there is a result: a server may still be starting.
fn call(client: &mut Pipe, tool: &str, arguments: &str) -> Result<()> {
    let start = Instant::now();
    for id in 1_u64.. {
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        ))?;
        let response = loop {
            let message: Value = serde_json::from_str(&client.line_within(LIMIT)?)?;
            if message["id"] == id && message.get("method").is_none() {
                break message;
            }
        };
        if response.get("result").is_some() {
            return Ok(());
        }
        ensure!(start.elapsed() < LIMIT, "`{tool}` gives {response}");
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The settings of a server that starts and answers at once.
fn echo() -> Result<String> {
    let echo = target()?.join("release/toolbay-echo");
    Ok(format!("[servers.echo]\ncommand = '{}'\nargs = ['stdio']\n", echo.display()))
}

/// The settings of five published servers.
fn five_servers() -> Result<String> {
    let peers = peers::folder()?;
    let (node, python) = (clients::node()?, peers.join("python/bin"));
    let package =
        |name: &str| peers.join("npm/node_modules/@modelcontextprotocol").join(name).join("dist/index.js");
    let servers = [
        ("everything", &node, vec![package("server-everything"), "stdio".into()]),
        ("memory", &node, vec![package("server-memory")]),
        ("filesystem", &node, vec![package("server-filesystem"), "/usr/share".into()]),
        ("time", &python.join("mcp-server-time"), vec![]),
        ("git", &python.join("mcp-server-git"), vec![]),
    ];
    let entries = servers.iter().map(|(name, command, args)| {
        let args: Vec<String> = args.iter().map(|arg| format!("'{}'", arg.display())).collect();
        format!("[servers.{name}]\ncommand = '{}'\nargs = [{}]\n", command.display(), args.join(", "))
    });
    Ok(entries.collect())
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 KiB")]
fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}
