//! The codebase server: alone on stdio and HTTP, in a hub, and its commands.

mod commands; // `search` and `index`
mod containment; // nothing outside of the folder is ever shown
mod hubs; // in a hub, with and without a configuration
mod roots; // clients that name their project themselves
mod s3; // the document that it follows, word for word
mod secrets; // files whose names say that they hold secrets
mod tools; // each tool on real files

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::program::{Home, within};

const MAIN: &str = "\
//! Adds numbers.

/// Adds two numbers.
pub fn add(a: i32, b: i32) -> i32 {
    a + b // function add
}

/// Says how often a request is tried again before it is given up.
pub fn retry_limit() -> u32 {
    5
}
";

const SHAPES: &str = "\
class Circle:
    \"\"\"A round shape.\"\"\"

    def area(self):
        \"\"\"Computes the surface.\"\"\"
        return 3 * self.radius ** 2
";

/// A home with a small project in it.
pub(crate) struct Project {
    pub(crate) home: Home,
}

impl Project {
    pub(crate) fn new() -> Self {
        let project = Self { home: Home::new() };
        project.write("src/main.rs", MAIN);
        project.write("src/shapes.py", SHAPES);
        project.write("README.md", "# Numbers\n\nAdds numbers.\n\n## Limits\n\nNone that we know of.\n");
        project.write(".gitignore", "target/\n");
        project.write(".git/HEAD", "ref: refs/heads/main\n");
        project.write("target/built.rs", "function add\n");
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path("project").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The server alone, on stdio, with the handshake done.
    pub(crate) fn connect(&self) -> StdioClient {
        let mut client = self.connect_with(&[]);
        client.ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
        client
    }

    pub(crate) fn connect_with(&self, args: &[&str]) -> StdioClient {
        let args: Vec<&str> = ["codebase", "project"].iter().chain(args).copied().collect();
        StdioClient::start(&self.home, &args)
    }
}

/// A server on stdio.
pub(crate) struct StdioClient {
    child: Child,
    stdin: ChildStdin,
    stdout: Option<BufReader<ChildStdout>>,
    id: u64,
}

impl StdioClient {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::run(home.command(args))
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: Some(BufReader::new(stdout)), id: 0 }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// The next line that the server says.
    pub(crate) fn next(&mut self) -> Value {
        let mut stdout = self.stdout.take().unwrap();
        let (line, stdout) = within("an answer".to_owned(), move || {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            (line, stdout)
        });
        self.stdout = Some(stdout);
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer to a whole message.
    pub(crate) fn answer(&mut self, message: &Value) -> Value {
        self.send(&message.to_string());
        loop {
            let answer = self.next();
            if answer["id"] == message["id"] {
                return answer;
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.answer(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))
    }

    /// The result of a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// The list that a tool gives.
    pub(crate) fn list(&mut self, tool: &str, arguments: Value) -> Vec<Value> {
        list(&self.call(tool, arguments))
    }

    /// Why a tool failed.
    pub(crate) fn failure(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The list in the text of a result.
pub(crate) fn list(result: &Value) -> Vec<Value> {
    assert_ne!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
