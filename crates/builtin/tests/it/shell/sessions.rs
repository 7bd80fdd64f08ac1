//! Programs that go on running.

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use toolbay_builtin::shell::{ShellToolset, shell};
use toolbay_sandbox::Level;
use toolbay_transport::Incoming;

use super::{Project, call, levels, text};
use crate::client::Client;

async fn exec(client: &mut Client, arguments: Value) -> Value {
    call(client, "exec_command", arguments).await
}

#[tokio::test]
async fn a_short_command_returns_its_output_and_code() {
    for level in levels() {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Sessions).await;
        let result = exec(&mut client, json!({ "cmd": "echo out; echo err >&2; exit 2" })).await;
        let chunk = &result["structuredContent"];
        assert_eq!((&chunk["exit_code"], &chunk["session_id"]), (&json!(2), &Value::Null), "{result}");
        let output = chunk["output"].as_str().unwrap();
        assert!(output.contains("out\n") && output.contains("err\n"), "{output}");
        assert!(
            text(&result).contains("\nProcess exited with code 2\nOriginal token count: 2\nOutput:\n"),
            "{result}"
        );
        assert_eq!(result["_meta"]["io.toolbay/sandbox"]["level"], level.as_str());
        let input = exec(&mut client, json!({ "cmd": "cat; echo done" })).await;
        assert_eq!(input["structuredContent"]["output"], "done\n", "standard input is closed");
    }
}

#[tokio::test]
async fn a_command_that_runs_on_is_written_to_and_read() {
    for level in levels() {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Sessions).await;
        let program = "while read -r line; do echo \"got $line\"; [ \"$line\" = end ] && exit 5; done";
        let begun = exec(&mut client, json!({ "cmd": program, "stdin": true, "yield_time_ms": 250 })).await;
        let id = begun["structuredContent"]["session_id"].as_u64().unwrap_or_else(|| panic!("{begun}"));
        let write =
            |chars: &str, wait: u64| json!({ "session_id": id, "chars": chars, "yield_time_ms": wait });
        let one = call(&mut client, "write_stdin", write("one\n", 300)).await;
        assert_eq!(one["structuredContent"]["output"], "got one\n", "{one}");
        let nothing = call(&mut client, "write_stdin", write("", 250)).await;
        assert_eq!(
            (&nothing["structuredContent"]["output"], &nothing["isError"]),
            (&json!(""), &Value::Null)
        );
        let end = call(&mut client, "write_stdin", write("end\n", 10_000)).await;
        assert_eq!(
            (&end["structuredContent"]["output"], &end["structuredContent"]["exit_code"]),
            (&json!("got end\n"), &json!(5))
        );
        let gone = call(&mut client, "write_stdin", write("", 250)).await;
        assert!(text(&gone).contains("/session_id is no running command"), "{gone}");
    }
}

#[tokio::test]
async fn a_terminal_is_one() {
    for level in levels().into_iter().filter(|level| *level != Level::Partial) {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Sessions).await;
        let program = "test -t 0 && test -t 1 && echo terminal; read -r x; echo \"it's $x\"";
        let begun = exec(&mut client, json!({ "cmd": program, "tty": true, "yield_time_ms": 600 })).await;
        assert!(text(&begun).contains("terminal\r\n"), "{begun}");
        let id = begun["structuredContent"]["session_id"].as_u64().unwrap();
        let arguments = json!({ "session_id": id, "chars": "me\n", "yield_time_ms": 5000 });
        let end = call(&mut client, "write_stdin", arguments).await;
        assert!(text(&end).contains("it's me\r\n"), "{end}");
        assert_eq!(end["structuredContent"]["exit_code"], 0, "{end}");
    }
}

#[tokio::test]
async fn output_is_cut_to_the_tokens_that_are_wanted() {
    let project = Project::new();
    let mut client = project.client(Level::None, ShellToolset::Sessions).await;
    let result = exec(&mut client, json!({ "cmd": "seq 10000", "max_output_tokens": 100 })).await;
    let chunk = &result["structuredContent"];
    assert_eq!(chunk["original_token_count"], 48_894_u64.div_ceil(4));
    let output = chunk["output"].as_str().unwrap();
    assert!(output.len() < 600 && output.starts_with("1\n2\n") && output.ends_with("\n10000\n"), "{output}");
    let uri = result["content"][1]["uri"].as_str().unwrap();
    let read = client.request("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read["result"]["contents"][0]["text"].as_str().unwrap().len(), 48_894);
}

#[tokio::test]
async fn at_most_64_commands_run() {
    let project = Project::new();
    let tasks = TaskTracker::new();
    let mut connection = shell(project.config(Level::None, ShellToolset::Sessions))(&tasks);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    for id in 0..66 {
        let arguments = json!({ "cmd": "sleep 100", "yield_time_ms": 1000 });
        let params = json!({ "name": "exec_command", "arguments": arguments, "_meta": meta });
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        connection.outgoing.send(request.to_string().into()).await.unwrap();
    }
    let (mut running, mut refused) = (0, 0);
    for _ in 0..66 {
        let Some(Incoming::Message(message)) = connection.incoming.recv().await else { panic!() };
        let mut message: Value = serde_json::from_slice(message.text()).unwrap();
        let result = message["result"].take();
        running += usize::from(result["structuredContent"]["session_id"].is_u64());
        refused += usize::from(text(&result).starts_with("64 commands are running"));
    }
    assert_eq!((running, refused), (64, 2));
}
