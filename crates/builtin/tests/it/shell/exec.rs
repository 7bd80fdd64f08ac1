//! Programs: input, output, limits.

use std::fs;

use serde_json::json;
use toolbay_builtin::shell::{ShellConfig, ShellToolset, shell};
use toolbay_files::Protection;
use toolbay_sandbox::{Helper, Level};

use super::{Project, call, levels, text};
use crate::client::Client;

#[tokio::test]
async fn programs_run_with_input_environment_and_directory() {
    for level in levels() {
        let project = Project::new();
        fs::create_dir(project.path().join("sub")).unwrap();
        let mut client = project.client(level, ShellToolset::Exec).await;
        let script = "cat; echo $X; pwd; echo err >&2; exit 3";
        let arguments =
            json!({ "argv": ["sh", "-c", script], "stdin": "in\n", "env": { "X": "x" }, "cwd": "sub" });
        let result = call(&mut client, "exec", arguments).await;
        let sub = project.path().canonicalize().unwrap().join("sub");
        let ran = &result["structuredContent"];
        assert_eq!(ran["stdout"], format!("in\nx\n{}\n", sub.display()), "{result}");
        assert_eq!(
            (&ran["stderr"], &ran["exit_code"], &ran["timed_out"]),
            (&json!("err\n"), &json!(3), &json!(false))
        );
        assert_eq!(result["isError"], true);
        assert!(text(&result).ends_with("err\n[exit code 3]"), "{result}");
        assert_eq!(result["_meta"]["io.toolbay/sandbox"]["level"], level.as_str());
        for (arguments, expected) in [
            (json!({ "argv": ["no-such-program"] }), "no-such-program"),
            (json!({ "argv": ["true"], "cwd": "nowhere" }), "/cwd cannot be used"),
            (json!({ "argv": [] }), "/argv must be"),
            (json!({ "argv": ["a\u{0}b"] }), "NUL"),
            (json!({ "argv": ["sh", "-c", "exit 125"] }), "[exit code 125]"),
        ] {
            let error = client.call("exec", arguments).await.unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        if level != Level::None {
            let error = client.call("exec", json!({ "argv": ["true"], "cwd": "../.." })).await.unwrap_err();
            assert!(error.contains("/cwd is not a directory that programs may use"), "{error}");
        }
    }
}

#[tokio::test]
async fn long_output_is_cut_and_kept_whole_for_its_caller() {
    let project = Project::new();
    let connect = shell(project.config(Level::None, ShellToolset::Exec));
    let (mut client, mut other) = (Client::new(connect.clone()).await, Client::new(connect).await);
    let result = call(&mut client, "exec", json!({ "argv": ["seq", "200000"], "max_output": 2048 })).await;
    let shown = result["structuredContent"]["stdout"].as_str().unwrap();
    assert!(
        shown.len() < 2300 && shown.starts_with("1\n2\n") && shown.ends_with("199999\n200000\n"),
        "{shown}"
    );
    let link = &result["content"][1];
    assert_eq!((&link["type"], &link["size"]), (&json!("resource_link"), &json!(1_288_895)));
    let uri = link["uri"].as_str().unwrap();
    let read = client.request("resources/read", json!({ "uri": uri })).await;
    let page = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(
        page.starts_with("1\n2\n") && page.contains(" of 1288895; next: toolbay-result://"),
        "{}",
        &page[..50]
    );
    let end = format!("{uri}?offset=1288888");
    let read = client.request("resources/read", json!({ "uri": end })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "200000\n");
    let refused = other.request("resources/read", json!({ "uri": uri })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("unknown resource"), "{refused}");
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "toolbay-result://{id}");
}

#[tokio::test]
async fn files_that_configure_programs_and_ours_are_out_of_reach() {
    if !levels().contains(&Level::Full) {
        return;
    }
    let project = Project::new();
    for name in [".git", "ours"] {
        fs::create_dir(project.path().join(name)).unwrap();
        fs::write(project.path().join(name).join("config"), "old").unwrap();
    }
    let config = ShellConfig {
        hide: vec![project.path().join("ours")],
        ..project.config(Level::Full, ShellToolset::Exec)
    };
    let mut client = Client::new(shell(config.clone())).await;
    let write = json!({ "argv": ["sh", "-c", "echo new > .git/config"] });
    let refused = client.call("exec", write.clone()).await.unwrap_err();
    assert!(refused.contains("Read-only file system"), "{refused}");
    let hidden = client.call("exec", json!({ "argv": ["cat", "ours/config"] })).await.unwrap_err();
    assert!(hidden.contains("Permission denied"), "{hidden}");
    let mut client = Client::new(shell(ShellConfig { protection: Protection::Allow, ..config })).await;
    client.call("exec", write).await.unwrap();
    assert_eq!(fs::read_to_string(project.path().join(".git/config")).unwrap(), "new\n");
}

#[tokio::test]
async fn nothing_runs_in_less_than_the_sandbox_that_is_required() {
    let project = Project::new();
    let config = ShellConfig {
        helper: Helper::program("/bin/false"),
        ..project.config(Level::Full, ShellToolset::Exec)
    };
    let mut client = Client::new(shell(config)).await;
    let refused = client.call("exec", json!({ "argv": ["touch", "made"] })).await.unwrap_err();
    assert!(refused.starts_with("nothing was run: this system has no full sandbox"), "{refused}");
    assert!(!project.path().join("made").exists());

    let helper = project.config(Level::Partial, ShellToolset::Exec).helper;
    let config = ShellConfig { helper, ..project.config(Level::Full, ShellToolset::Exec) };
    let mut client = Client::new(shell(config)).await;
    let refused = client.call("exec", json!({ "argv": ["touch", "made"] })).await.unwrap_err();
    let expected = "has no full sandbox (no user namespaces). Set `sandbox = \"partial\"`";
    assert!(refused.contains(expected), "{refused}");
    assert!(!project.path().join("made").exists());
}

#[tokio::test]
async fn secrets_of_the_environment_stay_outside() {
    for level in levels() {
        let project = Project::new();
        let mut config = project.config(level, ShellToolset::Exec);
        for name in ["GITHUB_TOKEN", "SSH_AUTH_SOCK", "LC_ALL"] {
            config.environment.insert(name.into(), "C".into());
        }
        let mut client = Client::new(shell(config)).await;
        let listed = client.call("exec", json!({ "argv": ["env"] })).await.unwrap();
        let mut names: Vec<&str> = listed.lines().filter_map(|line| line.split('=').next()).collect();
        names.retain(|name| *name != toolbay_supervise::MARKER);
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"], "{listed}");
    }
}
