//! The server `shell`, without a sandbox: that is tested with the program that builds it.

use std::{collections::BTreeMap, fs, time::Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolbay_builtin::{
    result_store::ResultStore,
    shell::{ShellConfig, shell},
};
use toolbay_sandbox::{Helper, Level, Limits, Network};

use crate::client::Client;

async fn client(directory: &TempDir) -> (Client, ResultStore) {
    let results = ResultStore::open(&directory.path().join("results")).unwrap();
    let config = ShellConfig {
        directory: directory.path().canonicalize().unwrap(),
        read: Vec::new(),
        write: Vec::new(),
        network: Network::None,
        limits: Limits::default(),
        level: Level::None,
        helper: Helper::current_exe(),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        results: Some(results.clone()),
    };
    (Client::new(shell(config)).await, results)
}

async fn exec(client: &mut Client, arguments: Value) -> Value {
    client.request("tools/call", json!({ "name": "exec", "arguments": arguments })).await["result"].take()
}

#[tokio::test]
async fn programs_run_with_input_environment_and_directory() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("sub")).unwrap();
    let (mut client, _) = client(&directory).await;
    let script = "cat; echo $X; pwd; echo err >&2; exit 3";
    let arguments =
        json!({ "argv": ["sh", "-c", script], "stdin": "in\n", "env": { "X": "x" }, "cwd": "sub" });
    let result = exec(&mut client, arguments).await;
    let sub = directory.path().canonicalize().unwrap().join("sub");
    let ran = &result["structuredContent"];
    assert_eq!(ran["stdout"], format!("in\nx\n{}\n", sub.display()));
    assert_eq!(
        (&ran["stderr"], &ran["exit_code"], &ran["timed_out"]),
        (&json!("err\n"), &json!(3), &json!(false))
    );
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().ends_with("err\n[exit code 3]"), "{result}");
    for (arguments, expected) in [
        (json!({ "argv": ["no-such-program"] }), "no-such-program"),
        (json!({ "argv": ["true"], "cwd": "../.." }), "/cwd is not a directory that programs may use"),
        (json!({ "argv": [] }), "/argv must be"),
    ] {
        let error = client.call("exec", arguments).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_program_that_takes_too_long_ends_with_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let (mut client, _) = client(&directory).await;
    let script = "echo begun; sleep 300 & setsid sleep 301 & echo $! > pids; echo $$ >> pids; wait";
    let begun = Instant::now();
    let result = exec(&mut client, json!({ "argv": ["sh", "-c", script], "timeout_ms": 500 })).await;
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert_eq!(result["structuredContent"]["timed_out"], true);
    assert!(
        result["content"][0]["text"].as_str().unwrap().starts_with("begun\n[ended after 0.5"),
        "{result}"
    );
    let pids = fs::read_to_string(directory.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{pid} is alive: {state}");
    }
}

#[tokio::test]
async fn long_output_is_cut_and_kept_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (mut client, results) = client(&directory).await;
    let result = exec(&mut client, json!({ "argv": ["seq", "200000"], "max_output": 2048 })).await;
    let shown = result["structuredContent"]["stdout"].as_str().unwrap();
    assert!(
        shown.len() < 2300 && shown.starts_with("1\n2\n") && shown.ends_with("199999\n200000\n"),
        "{shown}"
    );
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link");
    let (whole, size) = results.read(link["uri"].as_str().unwrap(), 0, 1 << 24).unwrap().unwrap();
    assert_eq!((whole.len() as u64, &json!(size)), (size, &result["structuredContent"]["stdout_bytes"]));
    assert!(whole.ends_with(b"\n200000\n"));
}
