//! `mcp-server-commands` and `mcp-shell-server`.

use std::{fs, path::Path};

use serde_json::json;

use super::{ARGUMENTS, Comparison, Servers, UNKNOWN_TOOL, call};
use crate::program::sandbox_level;

const COMMANDS: Servers = Servers {
    page: "shell",
    program: "bin/node",
    script: Some("npm/node_modules/mcp-server-commands/build/index.js"),
    ours: &["shell", "--toolset", "commands"],
    arguments: &[],
    environment: &[],
    own_files: &[],
};

const SHELL_SERVER: Servers = Servers {
    page: "shell",
    program: "python-originals/bin/mcp-shell-server",
    script: None,
    ours: &["shell", "--toolset", "shell-server"],
    arguments: &[],
    environment: &[("ALLOW_COMMANDS", "echo,cat,sh,ls,sleep,false,pwd,sort,no-such-program")],
    own_files: &[],
};

// Where ours are better, in the words of docs/shell.md.
const SANDBOX: &str = "Programs run in the sandbox and see only what it lets them see.";
const LONG: &str = "Of an output above 1 MiB, the beginning and the end are shown, with a link to the whole. The originals fail.";
const NO_INPUT: &str =
    "Without `stdin`, the input of a command is empty. In the original, a command that reads it never ends.";
const WORKDIR: &str =
    "A `workdir` that does not exist is named in the error. The original says `spawn /bin/sh ENOENT`.";
const POLICY: &str = "Arguments are not searched for what looks dangerous: the sandbox confines programs. The original refuses \
                      shells, arguments with `;` and some options of `git`, `tar`, `find`, `sort` and `awk`.";
const EMPTY: &str = "Empty arguments reach the program. The original leaves them out.";
const NO_PROGRAM: &str = "A program that does not exist is named, with exit status 127. The original says `Failed to create process`.";

/// Starts both, ours in the best sandbox that there is.
fn start(servers: Servers) -> Comparison {
    let ours: Vec<&str> = servers.ours.iter().copied().chain(["--sandbox", sandbox_level()]).collect();
    Comparison::start(&Servers { ours: ours.leak(), ..servers }, prepare)
}

#[test]
fn commands() {
    let mut servers = start(COMMANDS);
    servers.tools();
    let run = |command: &str| call("run_command", json!({ "command": command }));
    servers.calls([
        run("echo hello"),
        run("echo one; echo two >&2"),
        run("printf 'no line break'"),
        run("cat file.txt | sort | uniq -c"),
        run("echo 'grüße 世界'"),
        run("true"),
        run("exit 3"),
        run("echo out; echo err >&2; exit 1"),
        run("no_such_program_at_all"),
        run("pwd"),
        run("echo written > new.txt"),
        run("pwd").with(&json!({ "workdir": "{root}/sub" })),
        run("pwd").with(&json!({ "workdir": "sub" })),
        run("pwd").with(&json!({ "workdir": "{root}/none" })).better(WORKDIR),
        run("cat").with(&json!({ "stdin": "from stdin" })),
        run("sh").with(&json!({ "stdin": "echo script; exit 2" })),
        run("cat big.txt").better(LONG),
        run("ls ..").better(SANDBOX),
        run(""),
        call("run_command", json!({})).better(ARGUMENTS),
        run("cat").unanswered(NO_INPUT),
    ]);
}

#[test]
fn shell_server() {
    let mut servers = start(SHELL_SERVER);
    servers.tools();
    let run = |command: &[&str]| call("shell_execute", json!({ "command": command, "directory": "{root}" }));
    servers.calls([
        run(&["echo", "hello"]),
        run(&["echo", "two words", "$HOME", "*"]),
        run(&["echo", " kept ", "|", "cat"]),
        run(&["ls", ""]).better(EMPTY),
        run(&["false"]),
        run(&["cat", "file.txt"]),
        run(&["ls", "sub"]),
        run(&["ls", "sub", "none"]),
        run(&["cat"]).with(&json!({ "stdin": "from stdin" })),
        run(&["pwd"]).with(&json!({ "directory": "{root}/sub" })),
        run(&["pwd"]).with(&json!({ "directory": "{root}/none" })),
        run(&["sleep", "5"]).with(&json!({ "timeout": 1 })),
        call("shell_execute", json!({ "command": ["pwd"] })),
        run(&["rm", "file.txt"]),
        run(&[]),
        run(&[""]),
        run(&["echo", "a", "|", "cat"]),
        run(&["cat", "file.txt", "|", "sort"]),
        run(&["echo", "a", "|", "rm", "file.txt"]),
        run(&["echo", "a", "|"]),
        run(&["|", "cat"]),
        run(&["echo", "a", ";", "ls"]),
        run(&["echo", "a", "|", "cat", "&&", "ls"]),
        run(&["echo", "a", ">", "redirected.txt"]),
        run(&["echo", "b", ">>", "redirected.txt"]),
        run(&["sort", "<", "file.txt"]),
        run(&["echo", ">"]),
        run(&["echo", ">", ">"]),
        run(&["sh", "-c", "echo out; echo err >&2"]).better(POLICY),
        run(&["sh", "-c", "exit 3"]).better(POLICY),
        run(&["no-such-program"]).better(NO_PROGRAM),
        run(&["cat", "big.txt"]).better(LONG),
        run(&["ls", ".."]).better(SANDBOX),
        call("shell_execute", json!({})).better(ARGUMENTS),
        call("shell_execute", json!({ "command": "ls" })).better(ARGUMENTS),
        call("shell_run", json!({ "command": ["ls"] })).better(UNKNOWN_TOOL),
    ]);
}

fn prepare(root: &Path) {
    fs::create_dir(root.join("sub")).unwrap();
    fs::write(root.join("file.txt"), "b\na\nb\n").unwrap();
    fs::write(root.join("sub/inner.txt"), "").unwrap();
    fs::write(root.join("big.txt"), "a line of text\n".repeat(100_000)).unwrap();
}
