//! A shell that stays.

use std::time::Instant;

use serde_json::json;
use toolbay_builtin::shell::ShellToolset;
use toolbay_sandbox::Level;

use super::{Project, call, levels, text};

#[tokio::test]
async fn directory_variables_and_jobs_stay_between_commands() {
    for level in levels() {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Bash).await;
        let first = call(
            &mut client,
            "bash",
            json!({ "command": "mkdir sub && cd sub; X=1; f() { echo \"f $X\"; }" }),
        )
        .await;
        assert_eq!((text(&first), &first["isError"]), ("", &json!(null)), "{first}");
        assert_eq!(first["_meta"]["io.toolbay/sandbox"]["level"], level.as_str());
        for (command, expected) in [
            ("f; basename $PWD", "f 1\nsub\n"),
            ("printf 'no newline'", "no newline"),
            ("echo 'it'\\''s'; echo err >&2", "it's\nerr\n"),
            ("cat", ""),
            ("cat <<'EOF'\na\nEOF", "a\n"),
            ("set -v; :; set +v", "set +v\n"),
        ] {
            let result = call(&mut client, "bash", json!({ "command": command })).await;
            let shown = text(&result);
            assert!(shown == expected || command.starts_with("set -v"), "{command}: {result}");
        }
        for (command, expected) in
            [("false", "[exit code 1]"), ("echo 'unfinished", "[exit code "), ("(exit 42)", "[exit code 42]")]
        {
            let result = call(&mut client, "bash", json!({ "command": command })).await;
            assert!(text(&result).contains(expected) && result["isError"] == true, "{command}: {result}");
            assert_eq!(result["structuredContent"]["running"], true);
        }
        let still = call(&mut client, "bash", json!({ "command": "echo $X" })).await;
        assert_eq!(text(&still), "1\n");
    }
}

#[tokio::test]
async fn it_starts_anew_when_it_is_restarted_has_ended_or_takes_too_long() {
    for level in levels() {
        let project = Project::new();
        let mut client = project.client(level, ShellToolset::Bash).await;
        let run = |command: &str| json!({ "command": command });
        call(&mut client, "bash", run("X=1")).await;
        let restarted = call(&mut client, "bash", json!({ "restart": true })).await;
        assert_eq!(text(&restarted), "tool has been restarted.");
        assert_eq!(text(&call(&mut client, "bash", run("echo x$X; X=2")).await), "x\n");
        let ended = call(&mut client, "bash", run("echo bye; exit 7")).await;
        assert_eq!(text(&ended), "bye\n[bash has ended with exit code 7; the next command starts a new one]");
        assert_eq!(
            (&ended["isError"], &ended["structuredContent"]["running"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(text(&call(&mut client, "bash", run("echo x$X; X=3")).await), "x\n");
        let begun = Instant::now();
        let slow = json!({ "command": "echo begun; sleep 100", "timeout_ms": 300 });
        let slow = call(&mut client, "bash", slow).await;
        assert!(text(&slow).starts_with("begun\n[ended after "), "{slow}");
        assert!(begun.elapsed().as_secs() < 10);
        assert_eq!(text(&call(&mut client, "bash", run("echo x$X")).await), "x\n");
        let missing = call(&mut client, "bash", json!({})).await;
        assert!(text(&missing).contains("/command is missing"), "{missing}");
    }
}

#[tokio::test]
async fn the_end_of_a_long_output_is_shown() {
    let project = Project::new();
    let mut client = project.client(Level::None, ShellToolset::Bash).await;
    let result = call(&mut client, "bash", json!({ "command": "seq 100000" })).await;
    let shown = text(&result);
    assert!(shown.starts_with("[… ") && shown.ends_with("\n99999\n100000\n"), "{}", &shown[..200]);
    assert!((90_000..110_000).contains(&shown.len()), "{}", shown.len());
    assert_eq!(result["structuredContent"]["output_bytes"], 588_895);
    assert_eq!(result["content"][1]["type"], "resource_link");
}
