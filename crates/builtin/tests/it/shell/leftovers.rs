//! No process is left after timeouts, cancellation, disconnection and kills.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_builtin::shell::{ShellToolset, shell};

use super::{HOST, Project, call, config, levels, text};

/// A daemon that has a session of its own, no parent and no environment, and beats; and a program that goes on.
const SCRIPT: &str = "(setsid env -i sh -c 'while echo >> beats; do sleep 0.02; done' >/dev/null 2>&1 &); echo begun; sleep 300";

fn beats(project: &Path) -> u64 {
    fs::metadata(project.join("beats")).map_or(0, |found| found.len())
}

async fn until_it_beats(project: &Path) {
    let begun = Instant::now();
    while beats(project) < 3 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until the daemon beats no more. Returns how long that took.
async fn until_silent(project: &Path) -> Duration {
    let begun = Instant::now();
    let (mut last, mut silent_since) = (beats(project), Instant::now());
    while silent_since.elapsed() < Duration::from_millis(300) {
        assert!(begun.elapsed() < Duration::from_secs(5), "it goes on");
        tokio::time::sleep(Duration::from_millis(10)).await;
        if beats(project) != last {
            (last, silent_since) = (beats(project), Instant::now());
        }
    }
    silent_since - begun
}

#[tokio::test]
async fn a_timeout_ends_everything() {
    for level in levels() {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Exec).await;
        let begun = Instant::now();
        let result =
            call(&mut client, "exec", json!({ "argv": ["sh", "-c", SCRIPT], "timeout_ms": 500 })).await;
        let took = begun.elapsed();
        assert!(text(&result).starts_with("begun\n[ended after "), "{result}");
        assert_eq!(result["structuredContent"]["timed_out"], true);
        assert!(beats(project.path()) > 0);
        let silent = until_silent(project.path()).await;
        eprintln!("timeout at {level}: answered after {took:?}, silent after {silent:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test]
async fn cancellation_and_disconnection_end_everything() {
    for level in levels() {
        for is_cancelled in [true, false] {
            let project = Project::new();
            let tasks = TaskTracker::new();
            let connection = shell(project.config(level, ShellToolset::Exec))(&tasks);
            let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
            let params =
                json!({ "name": "exec", "arguments": { "argv": ["sh", "-c", SCRIPT] }, "_meta": meta });
            let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
            connection.outgoing.send(request.to_string().into()).await.unwrap();
            until_it_beats(project.path()).await;
            if is_cancelled {
                let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7, "_meta": meta } });
                connection.outgoing.send(cancel.to_string().into()).await.unwrap();
                let silent = until_silent(project.path()).await;
                eprintln!("cancellation at {level}: silent after {silent:?}");
            } else {
                drop(connection);
                let silent = until_silent(project.path()).await;
                eprintln!("disconnection at {level}: silent after {silent:?}");
                tasks.close();
                tokio::time::timeout(Duration::from_secs(5), tasks.wait()).await.expect("all tasks end");
            }
        }
    }
}

#[tokio::test]
async fn shells_and_sessions_end_with_their_connection() {
    for level in levels() {
        for toolset in [ShellToolset::Bash, ShellToolset::Sessions] {
            let project = Project::new();
            let mut client = project.client(level, toolset).await;
            let background = SCRIPT.replace("sleep 300", "true");
            match toolset {
                ShellToolset::Bash => call(&mut client, "bash", json!({ "command": background })).await,
                _ => call(&mut client, "exec_command", json!({ "cmd": SCRIPT, "yield_time_ms": 250 })).await,
            };
            until_it_beats(project.path()).await;
            drop(client);
            let silent = until_silent(project.path()).await;
            eprintln!("{toolset:?} at {level}: silent after {silent:?}");
        }
    }
}

#[test]
fn shutdown_of_the_runtime_ends_everything() {
    for level in levels() {
        let project = Project::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut client = project.client(level, ShellToolset::Sessions).await;
            call(&mut client, "exec_command", json!({ "cmd": SCRIPT, "yield_time_ms": 250 })).await;
            until_it_beats(project.path()).await;
            std::mem::forget(client);
        });
        runtime.shutdown_timeout(Duration::from_millis(100));
        let check = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let silent = check.block_on(until_silent(project.path()));
        eprintln!("shutdown at {level}: silent after {silent:?}");
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a host is no server: it is what is killed")]
async fn kill_9_of_the_host_ends_everything() {
    for level in levels() {
        let project = Project::new();
        let directory = project.path().canonicalize().unwrap();
        let argv = json!(["sh", "-c", SCRIPT]).to_string();
        let mut command = std::process::Command::new(HOST);
        command.arg(level.as_str()).arg(&directory).arg(argv).stdout(Stdio::piped());
        let mut host = command.spawn().unwrap();
        until_it_beats(project.path()).await;
        host.kill().unwrap();
        host.wait().unwrap();
        let silent = until_silent(project.path()).await;
        eprintln!("kill -9 at {level}: silent after {silent:?}");
        let mut output = BufReader::new(host.stdout.take().unwrap());
        assert_eq!(output.read_line(&mut String::new()).unwrap(), 0);
    }
}

#[tokio::test]
async fn no_zombies_are_left() {
    for level in levels() {
        let project = Project::new();
        let mut client =
            crate::client::Client::new(shell(config(project.path(), level, ShellToolset::Exec))).await;
        for _ in 0..20 {
            call(&mut client, "exec", json!({ "argv": ["sh", "-c", "true & true & exit 0"] })).await;
        }
        let own = std::process::id().to_string();
        let is_zombie = |stat: String| {
            let (_, fields) = stat.rsplit_once(')')?;
            let mut fields = fields.split_whitespace();
            (fields.next() == Some("Z") && fields.next() == Some(own.as_str())).then_some(stat.clone())
        };
        // Those of other tests are reaped in a moment.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let stats = fs::read_dir("/proc").unwrap().flatten();
        let zombies: Vec<String> = stats
            .filter_map(|process| is_zombie(fs::read_to_string(process.path().join("stat")).ok()?))
            .collect();
        assert!(zombies.len() < 5, "{level}: {zombies:?}");
    }
}
