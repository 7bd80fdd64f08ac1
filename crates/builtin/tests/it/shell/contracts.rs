//! The same answers as the published servers, recorded from mcp-server-commands 0.5.0 and mcp-shell-server 1.1.14.

use std::fs;

use serde_json::{Value, json};
use toolbay_builtin::shell::{ShellConfig, ShellToolset, shell};

use toolbay_sandbox::Level;

use super::{Project, call, levels};
use crate::client::Client;

fn block(name: &str, text: &str) -> Value {
    json!({ "type": "text", "text": text, "name": name })
}

#[tokio::test]
async fn run_command_answers_as_the_original() {
    for level in levels() {
        let project = Project::new();
        fs::create_dir(project.path().join("sub")).unwrap();
        fs::write(project.path().join("f.txt"), "hello\n").unwrap();
        let mut client = project.client(level, ShellToolset::Commands).await;
        let sub = project.path().canonicalize().unwrap().join("sub");
        let out = |text: &str| (json!([block("STDOUT", text)]), false);
        let not_found = "/bin/sh: 1: nosuchprogram: not found\n";
        for (arguments, (content, is_error)) in [
            (json!({ "command": "echo hi" }), out("hi\n")),
            (json!({ "command": "cat f.txt" }), out("hello\n")),
            (
                json!({ "command": "echo out; echo err >&2" }),
                (json!([block("STDOUT", "out\n"), block("STDERR", "err\n")]), false),
            ),
            (
                json!({ "command": "echo out; echo err >&2; exit 3" }),
                (
                    json!([
                        block("ERROR", "Command failed: echo out; echo err >&2; exit 3\nerr\n"),
                        block("STDOUT", "out\n"),
                        block("STDERR", "err\n"),
                    ]),
                    true,
                ),
            ),
            (json!({ "command": "false" }), (json!([block("ERROR", "Command failed: false\n")]), true)),
            (json!({ "command": "true" }), (json!([]), false)),
            (json!({ "command": "cat", "stdin": "text" }), out("text")),
            (json!({ "command": "wc -l | cat", "stdin": "a\nb\n" }), out("2\n")),
            (json!({ "command": "pwd", "workdir": sub }), out(&format!("{}\n", sub.display()))),
            (json!({ "command": "pwd", "workdir": "sub" }), out(&format!("{}\n", sub.display()))),
            (
                json!({ "command": "nosuchprogram" }),
                (
                    json!([
                        block("ERROR", &format!("Command failed: nosuchprogram\n{not_found}")),
                        block("STDERR", not_found),
                    ]),
                    true,
                ),
            ),
            (
                json!({ "command": "kill -9 $$" }),
                (json!([block("ERROR", "Command failed: kill -9 $$\n")]), true),
            ),
            (
                json!({ "command": "" }),
                (json!([{ "type": "text", "text": "Command is required, current value: " }]), true),
            ),
        ] {
            let result = call(&mut client, "run_command", arguments.clone()).await;
            assert_eq!((&result["content"], result["isError"] == true), (&content, is_error), "{arguments}");
        }
    }
}

#[tokio::test]
async fn shell_execute_answers_as_the_original() {
    const ALLOWED: [&str; 9] = ["echo", "cat", "ls", "sleep", "pwd", "false", "true", "nosuch", "sh"];
    for level in levels() {
        let project = Project::new();
        fs::create_dir(project.path().join("sub")).unwrap();
        fs::write(project.path().join("f.txt"), "hello\n").unwrap();
        let config = ShellConfig {
            allow_commands: Some(ALLOWED.map(str::to_owned).into()),
            ..project.config(level, ShellToolset::ShellServer)
        };
        let mut client = Client::new(shell(config)).await;
        let sub = project.path().canonicalize().unwrap().join("sub");
        let sub = sub.to_str().unwrap();
        for (arguments, text) in [
            (json!({ "command": ["echo", "hi"] }), Ok("hi")),
            (json!({ "command": ["cat", "f.txt"] }), Ok("hello")),
            (json!({ "command": ["cat"], "stdin": "text" }), Ok("text")),
            (json!({ "command": ["echo", " a "] }), Ok("a")),
            (json!({ "command": ["echo", "a", "|", "cat"] }), Ok("a\n")),
            (json!({ "command": ["echo", "it's", ">", "o.txt"] }), Ok("")),
            (json!({ "command": ["echo", "b", ">>", "o.txt"] }), Ok("")),
            (json!({ "command": ["cat", "<", "o.txt"] }), Ok("it's\nb")),
            (json!({ "command": ["pwd"], "directory": sub }), Ok(sub)),
            (json!({ "command": ["true"] }), Ok("")),
            (json!({ "command": ["false"] }), Err("Command failed with exit status 1")),
            (
                json!({ "command": ["ls", "nosuch"] }),
                Err(
                    "Command failed with exit status 2\nstderr:\nls: cannot access 'nosuch': No such file or directory",
                ),
            ),
            (json!({ "command": ["rm", "x"] }), Err("Command not allowed: rm")),
            (json!({ "command": ["echo", "x", "|", "rm"] }), Err("Command not allowed: rm")),
            (json!({ "command": [] }), Err("No command provided")),
            (json!({ "command": ["echo", "a", ";", "ls"] }), Err("Unexpected shell operator: ;")),
            (json!({ "command": ["|", "cat"] }), Err("Empty command before pipe operator")),
            (json!({ "command": ["echo", "a", ">"] }), Err("Missing path for output redirection")),
            (json!({ "command": ["sleep", "3"], "timeout": 1 }), Err("Command timed out after 1 seconds")),
            (
                json!({ "command": ["pwd"], "directory": "/nonexistent" }),
                Err("Directory does not exist: /nonexistent"),
            ),
        ] {
            let result = call(&mut client, "shell_execute", arguments.clone()).await;
            let blocks: Vec<&str> = result["content"]
                .as_array()
                .unwrap()
                .iter()
                .map(|block| block["text"].as_str().unwrap())
                .collect();
            // Without a sandbox, programs are started by their path.
            let text = match text {
                Err(text) if level == Level::None => Err(text.replace("\nls:", "\n/usr/bin/ls:")),
                Err(text) => Err(text.to_owned()),
                Ok(text) => Ok(text),
            };
            let expected = match text {
                Ok("") => (vec![], false),
                Ok(text) => (vec![text.to_owned()], false),
                Err(text) => (vec![format!("Error executing command: {text}")], true),
            };
            assert_eq!(
                (blocks, result["isError"] == true),
                (expected.0.iter().map(String::as_str).collect(), expected.1),
                "{arguments}"
            );
        }
    }
}
