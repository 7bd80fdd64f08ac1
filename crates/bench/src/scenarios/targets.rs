//! What is measured, and how each is started.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use super::{Places, peers, process, start};

/// What all ratios refer to.
pub(super) const BASE: &str = "direct-http";
pub(super) const FORWARD: &str = "forward";
pub(super) const TOOLBAY: &str = "toolbay";
pub(super) const OURS: [&str; 3] = [TOOLBAY, "toolbay-stdio", "toolbay-shared"];
/// Another build of Toolbay.
const AGAINST: [&str; 2] = ["against", "against-stdio"];
/// Targets that differ in one thing: the build, or whether clients share a hub.
pub(super) const PAIRS: [(&str, &str); 3] =
    [(OURS[0], AGAINST[0]), (OURS[1], AGAINST[1]), (OURS[2], OURS[1])];

/// One way from the load generator to an echo server.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// Front and server: `HTTP→stdio`.
    pub(super) route: &'static str,
    pub(super) kind: Kind,
    pub(super) noncommercial: bool,
    install: fn(&Places) -> anyhow::Result<()>,
    launch: Launch,
    /// Arguments of the load generator beside the address.
    pub(super) load_args: &'static [&'static str],
    /// Where it answers plain POSTs, by which its start is noticed.
    path: &'static str,
    /// Where the load generator finds it, if not there.
    load_url: Option<fn(u16) -> String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// No proxy in between.
    Direct,
    Ours,
    /// Not an MCP proxy: the forwarder, HAProxy.
    Yardstick,
    Peer,
}

/// The command that listens on a port.
type ListensAt = Box<dyn Fn(u16) -> anyhow::Result<Vec<String>>>;

/// How a target is started.
enum Launch {
    /// A command that listens on the port it is given.
    Listens(ListensAt),
    /// It runs already, for all.
    At { url: String, pid: u32 },
    /// The load generator starts it as its child.
    Stdio(Vec<String>),
    /// A command that listens, as above, and what the load generator starts to reach it.
    Shared { hub: ListensAt, client: Vec<String> },
}

/// Where the load generator finds a target.
pub(super) enum Address {
    Url(String),
    Command(Vec<String>),
}

/// The echo server on HTTP that stands behind every proxy from HTTP to HTTP.
pub(super) struct Echo {
    child: Child,
    port: u16,
}

impl Echo {
    pub(super) fn start(places: &Places) -> anyhow::Result<Self> {
        let port = start::free_port()?;
        let mut command = Command::new(places.program("toolbay-echo"));
        let child = command.args(["http", "--port", &port.to_string()]).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, port })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

impl Target {
    fn new(name: &'static str, route: &'static str, kind: Kind, launch: Launch) -> Self {
        Self {
            name,
            route,
            kind,
            launch,
            noncommercial: false,
            install: |_| Ok(()),
            load_args: &["--tool", "echo"],
            path: "/mcp",
            load_url: None,
        }
    }

    /// An echo server that runs already.
    pub(super) fn at(name: &'static str, route: &'static str, url: String, pid: u32) -> Self {
        Self::new(name, route, Kind::Direct, Launch::At { url, pid })
    }

    /// Toolbay in front of one server (an entry of a configuration), called over the transport of that URL.
    pub(super) fn hub(
        places: &Places,
        route: &'static str,
        server: &serde_json::Value,
        load_url: fn(u16) -> String,
    ) -> Self {
        let (program, file, config) = (places.program("toolbay"), file_of(places, route), config(server));
        let launch = Launch::Listens(Box::new(move |port| {
            write(&file, &config)?;
            let (file, listen) = (file.display().to_string(), format!("127.0.0.1:{port}"));
            Ok([&program, "serve", "--config", &file, "--listen", &listen].map(str::to_owned).to_vec())
        }));
        Self { load_url: Some(load_url), ..Self::new(route, route, Kind::Ours, launch) }.loaded_with(THROUGH)
    }

    /// As [`Target::hub`], on stdin and stdout.
    pub(super) fn hub_on_stdio(
        places: &Places,
        route: &'static str,
        server: &serde_json::Value,
    ) -> anyhow::Result<Self> {
        let file = file_of(places, route);
        write(&file, &config(server))?;
        let (program, file) = (places.program("toolbay"), file.display().to_string());
        let command = [&program, "stdio", "--alone", "--config", &file].map(str::to_owned).to_vec();
        Ok(Self::new(route, route, Kind::Ours, Launch::Stdio(command)).loaded_with(THROUGH))
    }

    fn installed_by(self, install: fn(&Places) -> anyhow::Result<()>) -> Self {
        Self { install, ..self }
    }

    pub(super) fn loaded_with(self, load_args: &'static [&'static str]) -> Self {
        Self { load_args, ..self }
    }

    fn at_path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    pub(super) fn install(&self, places: &Places) -> anyhow::Result<()> {
        (self.install)(places)
    }

    /// The process, if it runs already.
    pub(super) fn pid(&self) -> Option<u32> {
        if let Launch::At { pid, .. } = &self.launch { Some(*pid) } else { None }
    }

    /// Where it answers plain POSTs.
    pub(super) fn post_url(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}{}", self.path)
    }

    /// The command to start, if any, and where it is then to be found.
    pub(super) fn launch(&self, port: u16) -> anyhow::Result<(Option<Vec<String>>, Address)> {
        Ok(match &self.launch {
            Launch::Listens(command) => {
                let url = self.load_url.map_or_else(|| self.post_url(port), |url| url(port));
                (Some(command(port)?), Address::Url(url))
            }
            Launch::At { url, .. } => (None, Address::Url(url.clone())),
            Launch::Stdio(command) => (None, Address::Command(command.clone())),
            Launch::Shared { hub, client } => (Some(hub(port)?), Address::Command(client.clone())),
        })
    }
}

/// What the tool is called through the hub.
const THROUGH: &[&str] = &["--tool", "echo__echo"];

fn file_of(places: &Places, route: &str) -> std::path::PathBuf {
    places.scratch.join(format!("{}.json", route.replace('→', "-")))
}

fn config(server: &serde_json::Value) -> String {
    serde_json::json!({"mcpServers": {"echo": server}}).to_string()
}

/// The echo server without anything in between.
pub(super) fn direct(places: &Places, echo: &Echo) -> Vec<Target> {
    let stdio = vec![places.program("toolbay-echo"), "stdio".to_owned()];
    vec![
        Target::at(BASE, "HTTP", echo.url(), echo.pid()),
        Target::new("direct-stdio", "stdio", Kind::Direct, Launch::Stdio(stdio)),
    ]
}

pub(super) fn all(places: &Places, echo: &Echo, against: Option<&Path>) -> anyhow::Result<Vec<Target>> {
    let stdio = vec![places.program("toolbay-echo"), "stdio".to_owned()];
    let mut targets = direct(places, echo);
    targets.extend([
        Target::new(FORWARD, "HTTP→stdio", Kind::Yardstick, forward(places, stdio.clone())),
        Target::new("haproxy", "HTTP→HTTP", Kind::Yardstick, haproxy(places, echo.port))
            .installed_by(|_| peers::haproxy()),
    ]);
    targets.extend(toolbay(places, &stdio)?);
    if let Some(program) = against {
        targets.extend(other_build(places, program, &stdio)?);
    }
    targets.extend(peer_targets(places, &stdio));
    Ok(targets)
}

fn forward(places: &Places, server: Vec<String>) -> Launch {
    let program = places.program("toolbay-forward");
    Launch::Listens(Box::new(move |port| {
        let head = [program.clone(), "--port".to_owned(), port.to_string(), "--".to_owned()];
        Ok(head.into_iter().chain(server.iter().cloned()).collect())
    }))
}

fn haproxy(places: &Places, echo: u16) -> Launch {
    let file = places.scratch.join("haproxy.cfg");
    Launch::Listens(Box::new(move |port| {
        let config = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             frontend front\n  bind 127.0.0.1:{port}\n  default_backend echo\n\
             backend echo\n  http-reuse always\n  server echo 127.0.0.1:{echo}\n"
        );
        write(&file, &config)?;
        Ok(["haproxy", "-db", "-f", &file.display().to_string()].map(str::to_owned).to_vec())
    }))
}

/// Toolbay on each of its routes.
fn toolbay(places: &Places, stdio: &[String]) -> anyhow::Result<[Target; 3]> {
    let build = Build { program: places.program("toolbay"), places, server: server(stdio) };
    let [http, alone, shared] = OURS;
    let (hub, client) = (build.serve(shared), build.stdio(shared, &[])?);
    let targets = [
        Target::new(http, "HTTP→stdio", Kind::Ours, Launch::Listens(build.serve(http))),
        Target::new(alone, "stdio→stdio", Kind::Ours, Launch::Stdio(build.stdio(alone, &["--alone"])?)),
        Target::new(shared, "stdio→stdio", Kind::Ours, Launch::Shared { hub, client }),
    ];
    Ok(targets.map(|target| target.loaded_with(THROUGH)))
}

/// Another build of Toolbay, on the routes that every build has.
fn other_build(places: &Places, program: &Path, stdio: &[String]) -> anyhow::Result<[Target; 2]> {
    let build = Build { program: program.display().to_string(), places, server: server(stdio) };
    let [http, alone] = AGAINST;
    let targets = [
        Target::new(http, "HTTP→stdio", Kind::Yardstick, Launch::Listens(build.serve(http))),
        Target::new(alone, "stdio→stdio", Kind::Yardstick, Launch::Stdio(build.stdio(alone, &["--alone"])?)),
    ];
    Ok(targets.map(|target| target.loaded_with(THROUGH)))
}

/// A server as an entry of a configuration.
fn server(command: &[String]) -> serde_json::Value {
    serde_json::json!({"command": command[0], "args": command[1..]})
}

/// A build of Toolbay in front of one server.
struct Build<'a> {
    program: String,
    places: &'a Places,
    server: serde_json::Value,
}

impl Build<'_> {
    /// A hub that listens, with a configuration of its own.
    fn serve(&self, name: &str) -> ListensAt {
        let (program, file, text) = (self.program.clone(), self.file(name), config(&self.server));
        Box::new(move |port| {
            write(&file, &text)?;
            let (file, listen) = (file.display().to_string(), format!("127.0.0.1:{port}"));
            Ok([&program, "serve", "--config", &file, "--listen", &listen].map(str::to_owned).to_vec())
        })
    }

    /// A client's way in on stdin and stdout.
    fn stdio(&self, name: &str, options: &[&str]) -> anyhow::Result<Vec<String>> {
        let file = self.file(name);
        write(&file, &config(&self.server))?;
        let command = [&self.program, "stdio", "--config", &file.display().to_string()].map(str::to_owned);
        Ok(command.into_iter().chain(options.iter().map(|option| (*option).to_owned())).collect())
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.places.scratch.join(format!("{name}.json"))
    }
}

fn peer_targets(places: &Places, stdio: &[String]) -> [Target; 5] {
    let [program, argument] = [&stdio[0], &stdio[1]].map(Clone::clone);
    let peer = |name, launch| Target::new(name, "HTTP→stdio", Kind::Peer, Launch::Listens(launch));
    let cargo = |name: &str| places.peers.join("cargo/bin").join(name).display().to_string();
    let npm = |name: &str| places.peers.join("npm/node_modules/.bin").join(name).display().to_string();

    let (file, bin, server) = (places.scratch.join("mcp-proxy.toml"), cargo("mcp-proxy"), program.clone());
    let mcp_proxy_rs = move |port: u16| {
        let config = format!(
            "[proxy]\nname = \"bench\"\nseparator = \"__\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [observability]\nlog_level = \"warn\"\n\
             [[backends]]\nname = \"echo\"\ntransport = \"stdio\"\ncommand = \"{server}\"\nargs = [\"stdio\"]\n"
        );
        write(&file, &config)?;
        Ok(vec![bin.clone(), "--config".to_owned(), file.display().to_string()])
    };

    let (bin, server, arg) = (npm("mcp-proxy"), program.clone(), argument.clone());
    let mcp_proxy_npm = move |port: u16| {
        let port = port.to_string();
        Ok([&bin, "--host", "127.0.0.1", "--port", &port, "--server", "stream", "--", &server, &arg]
            .map(str::to_owned)
            .to_vec())
    };

    // Without --stateful it starts a server for every single request.
    let (bin, server) = (npm("supergateway"), format!("{program} {argument}"));
    let supergateway = move |port: u16| {
        let port = port.to_string();
        let tail =
            ["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port", &port];
        Ok([&bin, "--stdio", &server]
            .into_iter()
            .map(|arg| arg.to_owned().clone())
            .chain(tail.map(str::to_owned))
            .collect())
    };

    let (file, bin) =
        (places.scratch.join("fastmcp.json"), places.peers.join("py/bin/fastmcp").display().to_string());
    let config =
        serde_json::json!({"mcpServers": {"echo": {"command": program, "args": [argument]}}}).to_string();
    let fastmcp = move |port: u16| {
        write(&file, &config)?;
        let (file, port) = (file.display().to_string(), port.to_string());
        let command = [&bin, "run", &file, "--transport", "http", "--host", "127.0.0.1", "--port", &port];
        let quiet = ["--no-banner", "--log-level", "ERROR"];
        Ok(command.into_iter().chain(quiet).map(str::to_owned).collect())
    };

    // Its rate limit, on by default, would be all that is measured.
    let (file, bin) = (places.scratch.join("mcp-gateway.yaml"), cargo("mcp-gateway"));
    let server = format!("{program} {argument}");
    let mcp_gateway = move |port: u16| {
        let config = format!(
            "server:\n  host: 127.0.0.1\n  port: {port}\n\
             failsafe:\n  rate_limit:\n    enabled: false\n\
             backends:\n  echo:\n    command: \"{server}\"\n    description: echo\n"
        );
        write(&file, &config)?;
        Ok([&bin, "--config", &file.display().to_string(), "--log-level", "warn", "serve"]
            .map(str::to_owned)
            .to_vec())
    };

    [
        peer("mcp-proxy-rs", Box::new(mcp_proxy_rs))
            .installed_by(peers::mcp_proxy_rs)
            .loaded_with(&["--tool", "echo__echo"])
            .at_path("/"),
        peer("mcp-proxy-npm", Box::new(mcp_proxy_npm)).installed_by(peers::npm),
        peer("supergateway", Box::new(supergateway)).installed_by(peers::npm),
        peer("fastmcp", Box::new(fastmcp)).installed_by(peers::fastmcp),
        Target {
            noncommercial: true,
            ..peer("mcp-gateway", Box::new(mcp_gateway)).installed_by(peers::mcp_gateway).at_path("/mcp/echo")
        },
    ]
}

/// Writes a configuration that only we can read: some targets refuse any other.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let write =
        || fs::write(file, text).and_then(|()| fs::set_permissions(file, Permissions::from_mode(0o600)));
    write().with_context(|| format!("cannot write {}", file.display()))
}
