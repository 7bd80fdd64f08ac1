//! The files that servers work on, how servers are launched, and how drivers are run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::hub::{Front, Hub, await_listening, free_port, wait};
use super::{Client, RevisionKind, SERVERS};

const DRIVER_LIMIT: Duration = Duration::from_secs(180);

/// What a driver connects to.
#[derive(Debug)]
pub(super) enum Target {
    /// A URL, and how a driver is told which transport it is for.
    At {
        flag: &'static str,
        url: String,
    },
    Stdio(Launch),
}

#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(&'static str, String)>,
}

/// A server that runs beside the hub.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remote {
    pub(super) server: &'static str,
    /// As its command line calls it.
    pub(super) speaks: &'static str,
}

/// One test's own folder. Answers name files, so the direct run and the run through the hub use the same paths.
#[derive(Debug)]
pub(super) struct Stage {
    root: PathBuf,
    peers: PathBuf,
    /// Home, temporary files and sockets: short, because a socket's path must be.
    home: TempDir,
}

impl Stage {
    pub(super) fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop").join(name);
        fs::create_dir_all(&root).expect("the stage can be made");
        let home = tempfile::Builder::new().prefix("toolbay-").tempdir().expect("a home can be made");
        let stage = Self { root: root.canonicalize().expect("the stage is there"), peers: peers(), home };
        stage.reset();
        stage
    }

    /// Puts everything that the servers read or write back to the start.
    pub(super) fn reset(&self) {
        for folder in ["files", "repo", "elsewhere"] {
            empty(&self.root.join(folder));
        }
        let memory = self.root.join("memory.jsonl");
        if memory.exists() {
            fs::remove_file(memory).expect("the memory can be removed");
        }
        self.make_repository();
    }

    /// Two commits with fixed dates, an edit, and a new file.
    fn make_repository(&self) {
        let repo = self.root.join("repo");
        self.git(&["init", "--quiet", "--initial-branch=main", "."]);
        for (number, text) in [(1, "one\n"), (2, "one\ntwo\n")] {
            fs::write(repo.join("a.txt"), text).expect("a file can be written");
            self.git(&["add", "a.txt"]);
            self.git(&["commit", "--quiet", "--message", &format!("commit {number}: grüße")]);
        }
        fs::write(repo.join("a.txt"), "one\ntwo\nthree\n").expect("a file can be written");
        fs::write(repo.join("new.txt"), "new\n").expect("a file can be written");
    }

    fn git(&self, args: &[&str]) {
        let mut git = self.program("git");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
            git.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05+00:00");
        }
        let status = git.args(args).current_dir(self.root.join("repo")).status().expect("git runs");
        assert!(status.success(), "git {args:?} failed");
    }

    /// The calls of `tests/interop/calls/NAME.json`, about this stage's files.
    pub(super) fn calls(&self, name: &str) -> Vec<Value> {
        let path = drivers().join("calls").join(format!("{name}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = text.replace("{root}", &self.root.to_string_lossy());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// How a server is started, by us or by the hub.
    pub(super) fn launch(&self, server: &str) -> Launch {
        let at = |path: &str| self.root.join(path).to_string_lossy().into_owned();
        let peer = |path: &str| self.peers.join(path).to_string_lossy().into_owned();
        let node =
            |name: &str| peer(&format!("npm/node_modules/@modelcontextprotocol/server-{name}/dist/index.js"));
        let (command, args, env) = match server {
            "everything" => ("bin/node", vec![node(server)], vec![]),
            "filesystem" => ("bin/node", vec![node(server), at("files")], vec![]),
            "memory" => ("bin/node", vec![node(server)], vec![("MEMORY_FILE_PATH", at("memory.jsonl"))]),
            "time" => ("python/bin/mcp-server-time", vec!["--local-timezone".into(), "UTC".into()], vec![]),
            "git" => ("python/bin/mcp-server-git", vec!["--repository".into(), at("repo")], vec![]),
            _ => panic!("no server `{server}`"),
        };
        Launch { command: peer(command), args, env }
    }

    /// Starts a server that can be reached at a URL, and says which.
    fn remote(&self, Remote { server, speaks }: Remote) -> (Child, String) {
        let port = free_port();
        let Launch { command, args, env } = self.launch(server);
        let mut command = self.program(&command);
        command.args(args).arg(speaks).envs(env).env("PORT", port.to_string());
        let said = fs::File::create(self.root.join("remote.log")).expect("a log can be made");
        let mut child = command.stdout(Stdio::null()).stderr(said).spawn().expect("the server starts");
        assert!(await_listening(&mut child, port), "`{server}` does not listen");
        (child, format!("http://127.0.0.1:{port}/{}", if speaks == "sse" { "sse" } else { "mcp" }))
    }

    /// A hub with all five servers, of which it reaches one at a URL.
    pub(super) fn hub(&self, front: Front, remote: Option<Remote>) -> Hub {
        let mut beside = Vec::new();
        let servers: serde_json::Map<String, Value> = SERVERS
            .iter()
            .map(|server| {
                if let Some(remote) = remote.filter(|remote| remote.server == server.name) {
                    let (child, url) = self.remote(remote);
                    beside.push(child);
                    return (server.name.to_owned(), json!({ "url": url }));
                }
                let Launch { command, args, env } = self.launch(server.name);
                let env: serde_json::Map<String, Value> =
                    env.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
                (server.name.to_owned(), json!({ "command": command, "args": args, "env": env }))
            })
            .collect();
        let config = self.root.join("mcp.json");
        let text = serde_json::to_string_pretty(&json!({ "mcpServers": servers })).expect("JSON is written");
        fs::write(&config, text).expect("the configuration can be written");
        // On stdio the hub writes to the log of the driver that starts it.
        let log = self.root.join(if front == Front::Stdio { "through.log" } else { "hub.log" });
        Hub::start(front, self.program(env!("CARGO_BIN_EXE_toolbay")), &config, beside, &log)
    }

    /// Runs one client to its end and gives the document that it printed.
    pub(super) fn drive(
        &self,
        client: Client,
        revision: RevisionKind,
        target: &Target,
        calls: &[Value],
    ) -> Value {
        let (printed, wanted) = (self.root.join("driver.json"), self.root.join("calls.json"));
        fs::write(&wanted, serde_json::to_vec(calls).expect("JSON is written"))
            .expect("calls can be written");
        let mut driver = match client {
            Client::Python => self.driver("python/bin/python", "client.py", &[]),
            Client::TypeScript1 => self.driver("bin/node", "client.mjs", &["--sdk", "v1"]),
            Client::TypeScript2 => self.driver("bin/node", "client.mjs", &["--sdk", "v2"]),
        };
        driver
            .args(["--revision", if revision == RevisionKind::Modern { "modern" } else { "legacy" }])
            .arg("--calls")
            .arg(&wanted);
        let file = |path: &Path| fs::File::create(path).expect("a log can be made");
        let through_hub = match target {
            Target::At { flag, url } => {
                driver.args([*flag, url]);
                true
            }
            Target::Stdio(Launch { command, .. }) => command == env!("CARGO_BIN_EXE_toolbay"),
        };
        let said = self.root.join(if through_hub { "through.log" } else { "direct.log" });
        if through_hub {
            for server in SERVERS {
                driver.args(["--await", &format!("{}__{}", server.name, server.landmark)]);
            }
        }
        if let Target::Stdio(Launch { command, args, env }) = target {
            for (name, value) in env.iter().chain(&self.environment()) {
                driver.args(["--env", &format!("{name}={value}")]);
            }
            driver.args(["--stdio", "--", command]).args(args);
        }
        let mut child = driver.stdout(file(&printed)).stderr(file(&said)).spawn().expect("the driver starts");
        let status = wait(&mut child, DRIVER_LIMIT);
        let said = fs::read_to_string(&said).unwrap_or_default();
        assert!(
            status.is_some_and(|status| status.success()),
            "{client:?} {revision:?} on {target:?} ended with {status:?}:\n{said}"
        );
        let printed = fs::read_to_string(&printed).expect("the driver printed");
        serde_json::from_str(&printed)
            .unwrap_or_else(|error| panic!("the driver printed no JSON: {error}\n{said}"))
    }

    fn driver(&self, program: &str, script: &str, args: &[&str]) -> Command {
        let mut driver = self.program(&self.peers.join(program).to_string_lossy());
        driver.env("TOOLBAY_TEST_PEERS", &self.peers).arg(drivers().join(script)).args(args);
        driver
    }

    /// A program in an environment that is the same for servers, drivers and the hub.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env_clear().envs(self.environment()).stdin(Stdio::null()).current_dir(&self.root);
        command
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let home = |name: &str| {
            let path = self.home.path().join(name);
            fs::create_dir_all(&path).expect("a folder can be made");
            path.to_string_lossy().into_owned()
        };
        vec![
            ("PATH", std::env::var("PATH").expect("PATH is set")),
            ("LANG", "C.UTF-8".to_owned()),
            ("HOME", home("home")),
            ("XDG_CONFIG_HOME", home("config")),
            ("XDG_STATE_HOME", home("state")),
            ("XDG_DATA_HOME", home("data")),
            ("XDG_CACHE_HOME", home("cache")),
            ("XDG_RUNTIME_DIR", home("run")),
        ]
    }
}

/// Invariant: without the peers, the tests fail; a suite that skips itself proves nothing.
pub(crate) fn peers() -> PathBuf {
    const HINT: &str = "the interop tests need real servers and SDKs: run `cargo xtask test`, \
        or `cargo xtask peers` and then set TOOLBAY_TEST_PEERS=target/peers";
    let folder = std::env::var_os("TOOLBAY_TEST_PEERS").unwrap_or_else(|| panic!("{HINT}"));
    // A relative path is meant from where `cargo` was called, which is mostly the root.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let installed = ["npm.stamp", "python.stamp"].iter().all(|stamp| folder.join(stamp).exists());
    assert!(installed, "nothing is installed in {}; {HINT}", folder.display());
    folder.canonicalize().expect("the folder is there")
}

fn drivers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop")
}

/// Empties a folder but keeps it: a server may have looked it up already.
fn empty(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder can be made");
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("a folder can be listed").path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.expect("what is in the way can be removed");
    }
}
