//! A certified authorization server, protected servers and users in a browser, as processes.
//!
//! They are the scripts in `tests/authorization`. They end with their stdin, and so with this process, however it ends. What they
//! say is in `authorization` of the target folder for temporary files.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    interop::peers,
    program::{Home, Ran, ask, finish},
};

/// A process that printed its URL.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    /// Open, because some programs end when they cannot write.
    _stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Peer {
    /// Starts a script of `tests/authorization`, with what it needs to run.
    fn start(script: &str, args: &[&str]) -> Self {
        let (log, path) = new_log(script);
        let mut command = command(script, args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
        let mut url = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it was piped"));
        stdout.read_line(&mut url).expect("it prints its URL");
        assert!(url.starts_with("http://"), "{script} {args:?} does not listen; see {}", path.display());
        Self { child, _stdout: stdout, url: url.trim().to_owned() }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a peer writes what goes wrong.
fn new_log(script: &str) -> (File, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authorization");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{script}.{}.log", COUNT.fetch_add(1, Ordering::Relaxed)));
    (File::create(&path).unwrap(), path)
}

/// A script of `tests/authorization`, by Node.js or Python.
#[expect(clippy::disallowed_methods, reason = "programs that are not under test")]
fn command(script: &str, args: &[&str]) -> Command {
    let peers = peers();
    let program = if script.ends_with(".py") { "python/bin/python" } else { "bin/node" };
    let mut command = Command::new(peers.join(program));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/authorization").join(script));
    command.args(args).env("TOOLBAY_TEST_PEERS", peers);
    command
}

/// The authorization server.
#[derive(Debug)]
pub(crate) struct Issuer(Peer);

impl Issuer {
    pub(crate) fn start() -> Self {
        Self(Peer::start("issuer.mjs", &[]))
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    /// Does what `POST /control/…` of the script says.
    pub(crate) fn control(&self, what: &str, body: &Value) {
        json_of(&self.0.url, &format!("POST /control/{what}"), &body.to_string());
    }

    /// Registers a program that keeps a secret, and returns its id and the secret.
    pub(crate) fn register(&self, redirect_uri: &str) -> [String; 2] {
        let client = json!({ "redirect_uris": [redirect_uri], "grant_types": ["authorization_code"] });
        let client = json_of(&self.0.url, "POST /reg", &client.to_string());
        ["client_id", "client_secret"].map(|key| client[key].as_str().expect("it is registered").to_owned())
    }

    /// How often something was requested so far.
    pub(crate) fn count(&self, what: &str) -> u64 {
        let counts = json_of(&self.0.url, "GET /control/counts", "");
        counts[what].as_u64().unwrap_or_else(|| panic!("no `{what}` in {counts}"))
    }
}

/// A library that has both protected servers and clients that authorize by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    TypeScriptSdk,
    PythonSdk,
    FastMcp,
}

impl Library {
    /// Starts a server that accepts tokens of an issuer.
    pub(crate) fn server(self, issuer: &Issuer) -> Peer {
        match self {
            Self::TypeScriptSdk => Peer::start("server.mjs", &[issuer.url()]),
            Self::PythonSdk => Peer::start("server.py", &["sdk", issuer.url()]),
            Self::FastMcp => Peer::start("server.py", &["fastmcp", issuer.url()]),
        }
    }

    /// Runs a client that calls tools at a URL, and returns what it prints.
    pub(crate) fn client(self, url: &str, user: &User, tools: &[&str]) -> Value {
        let (script, args) = match self {
            Self::TypeScriptSdk => ("client.mjs", vec![url, &user.url]),
            Self::PythonSdk => ("client.py", vec!["sdk", url, &user.url]),
            Self::FastMcp => ("client.py", vec!["fastmcp", url, &user.url]),
        };
        let mut command = command(script, &[&args, tools].concat());
        command.env("BROWSER", user.opener()).env("HOME", user.folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = finish(command, format!("{self:?}"), "").expect(0);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
    }
}

/// A user with cookies of their own, in a browser that all tests share.
#[derive(Debug)]
pub(crate) struct User {
    /// Where the browser is steered.
    url: String,
    /// With `xdg-open`, which opens the browser.
    folder: tempfile::TempDir,
}

impl User {
    /// A user who logs in with this name. One whose name begins with `no` declines.
    pub(crate) fn new(name: &str) -> Self {
        static BROWSER: OnceLock<Peer> = OnceLock::new();
        let browser = BROWSER.get_or_init(|| Peer::start("browser.mjs", &[]));
        let user = Self { url: format!("{}/{name}", browser.url), folder: tempfile::tempdir().unwrap() };
        let script = format!("#!/bin/sh\nexec curl --silent --data-binary \"$1\" {}/open\n", user.url);
        fs::write(user.opener(), script).unwrap();
        fs::set_permissions(user.opener(), fs::Permissions::from_mode(0o755)).unwrap();
        user
    }

    /// The program that opens a URL in the browser.
    fn opener(&self) -> PathBuf {
        self.folder.path().join("xdg-open")
    }

    /// Runs a command of the binary on the user's desktop.
    #[expect(clippy::disallowed_methods, reason = "what the tests were started with")]
    pub(crate) fn run(&self, home: &Home, args: &[&str]) -> Ran {
        let mut command = home.command(args);
        let path = env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.path().display())).env("DISPLAY", ":none");
        command.stdin(Stdio::piped());
        finish(command, format!("{args:?}"), "")
    }

    /// The headings of the pages that were seen since the last time, for each URL that was opened.
    pub(crate) fn pages(&self) -> Vec<Vec<String>> {
        let (browser, name) = self.url.rsplit_once('/').unwrap();
        let visits = json_of(browser, &format!("GET /{name}/visits"), "");
        let visits = visits.as_array().unwrap().iter();
        visits
            .map(|visit| {
                assert_eq!(visit.get("error"), None, "{visit:#}");
                serde_json::from_value(visit["pages"].clone()).unwrap()
            })
            .collect()
    }
}

/// The body of a response.
fn json_of(url: &str, what: &str, body: &str) -> Value {
    let response = ask(url, what, "", body);
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{what}: {error}: {head}\n{body}"))
}
