//! The table `[hub]`: settings of the hub itself.

use std::{
    collections::BTreeMap,
    fmt,
    net::{AddrParseError, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use serde::Deserialize;
use toolbay_policy::Pattern;

use super::{
    AuditSection, AuthSection, HUB, PolicySection, ProfileEntry, SecretCommands, TOP, audit,
    auth::{self, check_url},
    policy, profiles, secret_commands, unknown,
};
use crate::{
    Problem, SandboxLevel, Variables,
    load::expansion::misplaced,
    model::duration,
    syntax::{Key, Node},
    template::{Style, Template},
};

/// Settings of the hub itself: the table `[hub]`. What is not set is `None` or empty; options of the command line win.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubFile {
    /// The addresses to listen on.
    pub listen: Vec<Listen>,
    /// The naming of tools and prompts.
    pub naming: Option<String>,
    /// The file with the token that HTTP clients must show.
    pub token_file: Option<PathBuf>,
    /// The certificates for HTTPS (PEM).
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM). Set if and only if `tls_cert` is.
    pub tls_key: Option<PathBuf>,
    /// The URL under which clients reach the hub, without `/mcp`.
    pub public_url: Option<String>,
    /// Other names under which clients may reach the hub.
    pub public_name: Vec<String>,
    /// Origins of web pages that may use the hub.
    pub allow_origin: Vec<String>,
    /// Whether it may listen beyond this machine without a token.
    pub allow_unauthenticated: Option<bool>,
    /// Whether other users of this machine may connect to its addresses.
    pub allow_local_users: Option<bool>,
    /// Whether `toolbay stdio` starts or joins a background hub.
    pub share: Option<bool>,
    /// How long a background hub runs after its last client disconnected.
    pub linger: Option<Duration>,
    /// How long the first `tools/list` waits for servers whose catalogs are not cached.
    pub first_list_wait: Option<Duration>,
    /// Whether built-in servers for the project are offered without entries.
    pub builtins: Option<bool>,
    /// Which tools clients are listed.
    pub exposure: Option<String>,
    /// How many tokens definitions may take before `auto` hides tools.
    pub exposure_budget: Option<usize>,
    /// Patterns of tools that are listed in any case.
    pub always_listed: Vec<String>,
    /// Which tools single clients are listed, by the name in their `clientInfo`.
    pub client_exposure: BTreeMap<String, String>,
    /// Whether clients are offered `run_code`.
    pub code_mode: Option<bool>,
    /// The least that the sandbox of that code must be.
    pub code_sandbox: Option<SandboxLevel>,
    /// How many bytes of text clients get of a result, where its server and tool have no limit of their own.
    pub max_result: Option<usize>,
    /// How tools are listed to clients that reject more than the specification does.
    pub schema_view: Option<String>,
}

impl HubFile {
    /// Whether `toolbay stdio` shares one background hub between clients.
    pub fn shares(&self) -> bool {
        self.share.unwrap_or(true)
    }

    /// How long a background hub runs after its last client disconnected.
    pub fn linger(&self) -> Duration {
        self.linger.unwrap_or(Duration::from_secs(5 * 60))
    }

    /// How long the first `tools/list` waits for servers whose catalogs are not cached.
    pub fn first_list_wait(&self) -> Duration {
        self.first_list_wait.unwrap_or(Duration::from_secs(2))
    }
}

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// HTTP on an address.
    Http(SocketAddr),
    /// One message per line on a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("a path must follow `unix:`".to_owned()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => {
                // A port alone is one of this machine.
                let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
                let address = port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
                address
                    .or_else(|_| text.parse())
                    .map(Self::Http)
                    .map_err(|_: AddrParseError| format!("`{text}` must be ADDR:PORT, PORT or unix:PATH"))
            }
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The values of `naming`.
pub(crate) const NAMINGS: [&str; 3] = ["prefix", "none", "prefix+alias"];

/// The values of `exposure`.
pub(crate) const EXPOSURES: [&str; 3] = ["all", "search", "auto"];
/// The values of `client_exposure`.
pub(crate) const CLIENT_EXPOSURES: [&str; 4] = ["all", "search", "auto", "defer"];
/// The values of `schema_view`.
pub(crate) const SCHEMA_VIEWS: [&str; 5] = ["auto", "off", "anthropic", "openai", "gemini"];

/// The settings of a file beside its servers.
#[derive(Debug, Default)]
pub(crate) struct HubSection {
    pub(crate) hub: HubFile,
    pub(crate) auth: AuthSection,
    pub(crate) profiles: Vec<ProfileEntry>,
    pub(crate) policy: PolicySection,
    pub(crate) audit: AuditSection,
    pub(crate) secret_commands: SecretCommands,
    pub(crate) problems: Vec<Problem>,
}

/// Reads the settings beside the servers. Relative paths start at `folder`.
pub(crate) fn hub(root: &Node, text: &str, folder: &Path, variables: &Variables) -> HubSection {
    let mut section = HubSection::default();
    let mut problems = Vec::new();
    let mut wrong = |key: &Key, message: String| {
        problems.push(Problem { server: None, message, location: key.at.place(text) });
    };
    for (key, node) in root.entries().unwrap_or_default() {
        match (key.text.as_str(), node.entries()) {
            ("servers", Some(_)) => {}
            ("hub", Some(settings)) => {
                let mut reader = HubReader { hub: &mut section.hub, folder, variables };
                for (key, node) in settings {
                    if let Err(message) = reader.setting(&key.text, node) {
                        wrong(key, message);
                    }
                }
                if section.hub.tls_cert.is_some() != section.hub.tls_key.is_some() {
                    wrong(key, "`tls_cert` and `tls_key` must be used together".to_owned());
                    (section.hub.tls_cert, section.hub.tls_key) = (None, None);
                }
            }
            ("auth", Some(settings)) => section.auth = auth::read(key, settings, &mut wrong),
            ("auth", None) => {
                section.auth = AuthSection::Invalid;
                wrong(key, "`auth` must be a table".to_owned());
            }
            ("profiles", Some(tables)) => section.profiles = profiles::read(tables, &mut wrong),
            ("policy", Some(settings)) => section.policy = policy::read(settings, &mut wrong),
            ("policy", None) => {
                section.policy = PolicySection::Invalid;
                wrong(key, "`policy` must be a table with `rules`".to_owned());
            }
            ("audit", Some(settings)) => {
                let reader = HubReader { hub: &mut HubFile::default(), folder, variables };
                section.audit = audit::read(settings, |key, node| reader.path(key, node), &mut wrong);
            }
            ("audit", None) => {
                section.audit = AuditSection::Invalid;
                wrong(key, "`audit` must be a table".to_owned());
            }
            ("secret_commands", Some(commands)) => {
                section.secret_commands = secret_commands::read(commands, &mut wrong);
            }
            (name @ ("servers" | "secret_commands" | "hub" | "profiles"), None) => {
                wrong(key, format!("`{name}` must be a table"))
            }
            (name, _) => wrong(key, unknown(name, &TOP)),
        }
    }
    section.problems = problems;
    section
}

struct HubReader<'a> {
    hub: &'a mut HubFile,
    folder: &'a Path,
    variables: &'a Variables,
}

impl HubReader<'_> {
    fn setting(&mut self, key: &str, node: &Node) -> Result<(), String> {
        match key {
            "listen" => {
                let listen = texts(key, node)?.into_iter().map(str::parse).collect::<Result<_, _>>()?;
                self.hub.listen = listen;
            }
            "naming" => {
                self.hub.naming = Some(one_of(key, node, &NAMINGS)?);
            }
            "token_file" => self.hub.token_file = Some(self.path(key, node)?),
            "tls_cert" => self.hub.tls_cert = Some(self.path(key, node)?),
            "tls_key" => self.hub.tls_key = Some(self.path(key, node)?),
            "public_url" => {
                let url = node.text().ok_or_else(|| wrong_kind(key, "a string", node))?;
                check_url(url).map_err(|why| format!("`{key}` {why}"))?;
                self.hub.public_url = Some(url.to_owned());
            }
            "public_name" => {
                self.hub.public_name = texts(key, node)?.into_iter().map(str::to_owned).collect();
            }
            "allow_origin" => {
                self.hub.allow_origin = texts(key, node)?.into_iter().map(str::to_owned).collect();
            }
            "allow_unauthenticated" => self.hub.allow_unauthenticated = Some(flag(key, node)?),
            "allow_local_users" => self.hub.allow_local_users = Some(flag(key, node)?),
            "share" => self.hub.share = Some(flag(key, node)?),
            "linger" => self.hub.linger = time(key, node)?,
            "builtins" => self.hub.builtins = Some(flag(key, node)?),
            "schema_view" => self.hub.schema_view = Some(one_of(key, node, &SCHEMA_VIEWS)?),
            "max_result" => self.hub.max_result = Some(count(key, node)?),
            "first_list_wait" => self.hub.first_list_wait = time(key, node)?,
            "exposure" => self.hub.exposure = Some(one_of(key, node, &EXPOSURES)?),
            "exposure_budget" => {
                let tokens = node.to_json().as_u64().and_then(|tokens| usize::try_from(tokens).ok());
                self.hub.exposure_budget =
                    Some(tokens.ok_or_else(|| wrong_kind(key, "a whole number", node))?);
            }
            "always_listed" => {
                let patterns = texts(key, node)?;
                for pattern in &patterns {
                    pattern.parse::<Pattern>().map_err(|why| format!("`{key}`: {why}"))?;
                }
                self.hub.always_listed = patterns.into_iter().map(str::to_owned).collect();
            }
            "client_exposure" => {
                let clients = node.entries().ok_or_else(|| wrong_kind(key, "a table", node))?;
                let mode = |(client, node): &(Key, Node)| {
                    Ok((client.text.clone(), one_of(&client.text, node, &CLIENT_EXPOSURES)?))
                };
                self.hub.client_exposure = clients.iter().map(mode).collect::<Result<_, String>>()?;
            }
            "code_mode" => self.hub.code_mode = Some(flag(key, node)?),
            "code_sandbox" => {
                let level = SandboxLevel::deserialize(node.to_json());
                let level =
                    level.map_err(|_| "`code_sandbox` must be one of full, partial, none".to_owned())?;
                self.hub.code_sandbox = Some(level);
            }
            _ => return Err(unknown(key, &HUB)),
        }
        Ok(())
    }

    /// A path, variables filled in.
    fn path(&self, key: &str, node: &Node) -> Result<PathBuf, String> {
        let text = node.text().ok_or_else(|| wrong_kind(key, "a string", node))?;
        let mut missing = Vec::new();
        let text = Template::parse(text, Style::Native);
        if let Some(name) = text.secrets().next() {
            return Err(misplaced(key, name));
        }
        let text = text.expand(self.variables, &mut missing).with_references();
        if let Some(missing) = missing.iter().find(|missing| missing.matters()) {
            return Err(format!("`{key}`: variable {} is not set", missing.name));
        }
        Ok(match (text.strip_prefix("~/"), &self.variables.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.join(&text),
        })
    }
}

/// A string or an array of strings.
pub(super) fn texts<'a>(key: &str, node: &'a Node) -> Result<Vec<&'a str>, String> {
    let texts = node.text().map(|text| vec![text]).or_else(|| node.texts());
    texts.ok_or_else(|| wrong_kind(key, "a string or an array of strings", node))
}

fn one_of(key: &str, node: &Node, values: &[&str]) -> Result<String, String> {
    let known = node.text().filter(|text| values.contains(text));
    known.map(str::to_owned).ok_or_else(|| format!("`{key}` must be one of {}", values.join(", ")))
}

fn flag(key: &str, node: &Node) -> Result<bool, String> {
    node.flag().ok_or_else(|| wrong_kind(key, "a boolean", node))
}

fn count(key: &str, node: &Node) -> Result<usize, String> {
    let number = node.to_json().as_u64().and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| wrong_kind(key, "a number of bytes", node))
}

fn time(key: &str, node: &Node) -> Result<Option<Duration>, String> {
    duration::deserialize(node.to_json()).map_err(|error| format!("`{key}`: {error}"))
}

pub(super) fn wrong_kind(key: &str, wanted: &str, node: &Node) -> String {
    format!("`{key}` must be {wanted}, got {}", node.kind())
}
