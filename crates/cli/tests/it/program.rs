//! Starts the binary in a folder and with an environment of its own, and kills what is left of it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

/// Longer than any test needs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home for one test.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
    /// Removed at the end.
    _owned: Option<tempfile::TempDir>,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("server.py"), include_str!("server.py")).unwrap();
        Self { dir: dir.path().to_owned(), _owned: Some(dir) }
    }

    /// The home of another test value, for as long as that is there.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), _owned: None }
    }

    /// One with `mcp.json`, whose only server is `small`.
    pub(crate) fn with_server() -> Self {
        let home = Self::new();
        home.write("mcp.json", &format!(r#"{{"mcpServers": {{{}}}}}"#, home.entry("small")));
        home
    }

    /// An entry of a configuration that starts our server.
    pub(crate) fn entry(&self, name: &str) -> String {
        let script = self.path("server.py");
        format!(r#""{name}": {{"command": "python3", "args": [{:?}]}}"#, script.to_str().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes the user's own configuration.
    pub(crate) fn write_user_config(&self, text: &str) {
        fs::create_dir_all(self.path("config/toolbay")).unwrap();
        self.write("config/toolbay/toolbay.toml", text);
    }

    /// As [`Self::write`], for the eyes of nobody else.
    pub(crate) fn write_secret(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// The folder of the control sockets.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.path("toolbay")
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolbay"));
        command.args(args).current_dir(&self.dir);
        // Hubs of other tests are none of its business.
        command.env("TOOLBAY_RUNTIME_DIR", &self.dir).env("XDG_STATE_HOME", &self.dir);
        command.env("XDG_CONFIG_HOME", self.path("config")).env("XDG_CACHE_HOME", self.path("cache"));
        // As in a terminal, so that nobody's shell is asked where programs are.
        command.env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.env("HOME", self.path("home")).env("XDG_DATA_HOME", self.path("data"));
        command.env_remove("RUST_LOG").env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with_input(args, "")
    }

    /// Runs a command to its end; its stdin ends after `input`.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        finish(command, format!("{args:?}"), input)
    }

    /// Runs a command on a terminal, where somebody types `input`. What it says is all on stdout.
    #[expect(clippy::disallowed_methods, reason = "the program under test, on a terminal that Python makes")]
    pub(crate) fn run_on_terminal(&self, args: &[&str], input: &str) -> Ran {
        let hub = self.command(args);
        let mut command = Command::new("python3");
        command.args(["-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"]);
        command.arg(hub.get_program()).args(hub.get_args()).current_dir(&self.dir);
        command.envs(hub.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command, format!("{args:?}"), input)
    }

    /// Starts `toolbay serve` and waits until it listens.
    pub(crate) fn serve(&self, args: &[&str]) -> Serving {
        let args: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
        self.start(&args)
    }

    /// Starts a hub and waits until it listens.
    pub(crate) fn start(&self, args: &[&str]) -> Serving {
        Serving::start(self.command(args))
    }

    /// As [`Self::serve`], with a soft limit of open files.
    pub(crate) fn serve_limited(&self, files: u64, args: &[&str]) -> Serving {
        self.serve_after(&format!("ulimit -Sn {files}"), args)
    }

    /// As [`Self::serve`], after a command of a shell, such as one that sets a limit.
    #[expect(clippy::disallowed_methods, reason = "the program under test, below a shell")]
    pub(crate) fn serve_after(&self, first: &str, args: &[&str]) -> Serving {
        let hub = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{first} && exec \"$0\" \"$@\"")]);
        command.arg(hub.get_program()).args(hub.get_args()).args(args).current_dir(&self.dir);
        command.envs(hub.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Serving::start(command)
    }
}

/// Runs a command to its end; its stdin ends after `input`.
pub(crate) fn finish(mut command: Command, what: String, input: &str) -> Ran {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read its input is fine.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = within(what, move || child.wait_with_output().unwrap());
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Serving {
    /// Starts a hub and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut serving = Serving { child, stderr, url: String::new(), said: String::new() };
        let line = serving.until("listens on");
        serving.url = line.split_whitespace().last().unwrap().to_owned();
        serving
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Ran {
    /// Checks the exit code, showing everything when it is another.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Stdout as one JSON object, with its schema version checked.
    pub(crate) fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        assert_eq!(value["schema_version"], 1);
        value
    }
}

/// A running hub.
#[derive(Debug)]
pub(crate) struct Serving {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub(crate) url: String,
    /// Everything it said on stderr so far.
    pub(crate) said: String,
}

impl Serving {
    /// Reads stderr up to a line that contains `text`.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.stderr.read_line(&mut line).unwrap();
            self.said.push_str(&line);
            assert!(length > 0, "it ended before it said {text:?}:\n{}", self.said);
            if line.contains(text) {
                return line.trim().to_owned();
            }
        }
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        signal(self.child.id(), "TERM");
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.child.wait().unwrap().code()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The answer to a POST, headers and all.
    pub(crate) fn post(&self, body: &str) -> String {
        self.ask("POST /mcp", body)
    }

    /// The answer to a GET, headers and all.
    pub(crate) fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), "")
    }

    fn ask(&self, what: &str, body: &str) -> String {
        self.ask_with(what, "", body)
    }

    /// The answer to a request with more headers, each with its line break.
    pub(crate) fn ask_with(&self, what: &str, headers: &str, body: &str) -> String {
        ask(&self.url, what, headers, body)
    }
}

/// The answer to a POST to a hub, headers and all.
pub(crate) fn post(url: &str, body: &str) -> String {
    ask(url, "POST /mcp", "", body)
}

/// The answer to a request with more headers, each with its line break.
pub(crate) fn ask(url: &str, what: &str, headers: &str, body: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Gone already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The best level of sandboxes here. Another program tries what the full one needs, so that a defect of ours is not taken for a
/// system without namespaces.
#[expect(clippy::disallowed_methods, reason = "asks the system")]
pub(crate) fn sandbox_level() -> &'static str {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "true"]);
    let output = unshare.output().unwrap();
    if output.status.success() {
        return "full";
    }
    eprintln!("not tested in a full sandbox: {}", String::from_utf8_lossy(&output.stderr));
    "partial"
}

#[expect(clippy::disallowed_methods, reason = "std sends no signals")]
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Whether a process runs. Whoever looks after orphans here may take a while to bury those that ended.
pub(crate) fn is_alive(pid: impl std::fmt::Display) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Whether any process still has `path` on its command line.
pub(crate) fn is_running(path: &Path) -> bool {
    let path = path.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(path))
}

/// What `work` gives, or a failure instead of a hang.
pub(crate) fn within<T: Send + 'static>(what: String, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    result.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} does not end"))
}
