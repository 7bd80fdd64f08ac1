//! Our own `toolbay.toml`.
//!
//! `[servers.NAME]` holds what an entry holds elsewhere, and how the server is treated, side by side; `[hub]` what is
//! about the hub itself. A key that means nothing is a mistake here, and is told with its line and column.

mod keys;

use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

use serde_json::{Map, Value};

pub(crate) use keys::{ENTRY, HUB, TOP, TUNING};

use crate::{
    Place, Problem, Standing, Tuning, Written, built_in,
    entry::BUILT_IN_ALONE,
    suggest::nearest,
    table::Fields,
    template::{Style, Template},
    transport::{Kind, kind},
    tree::{Key, Node},
};

/// Settings of the hub itself: the table `[hub]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubFile {
    /// Where it listens.
    pub listen: Vec<Listen>,
    /// How tools and prompts are named.
    pub naming: Option<String>,
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
                text.parse().map(Self::Http).map_err(|_| format!("`{text}` must be ADDR:PORT or unix:PATH"))
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

/// The ways to name tools that the hub knows.
pub(crate) const NAMINGS: [&str; 3] = ["prefix", "none", "prefix+alias"];

/// Reads what stands beside the servers.
pub(crate) fn hub(root: &Node, text: &str) -> (HubFile, Vec<Problem>) {
    let mut hub = HubFile::default();
    let mut problems = Vec::new();
    let mut wrong = |key: &Key, message: String| {
        problems.push(Problem { server: None, message, place: key.at.place(text) });
    };
    for (key, node) in root.entries().unwrap_or_default() {
        match (key.text.as_str(), node.entries()) {
            ("servers", Some(_)) => {}
            ("hub", Some(settings)) => {
                for (key, node) in settings {
                    if let Err(message) = setting(&mut hub, &key.text, node) {
                        wrong(key, message);
                    }
                }
            }
            (name @ ("servers" | "hub"), None) => wrong(key, format!("`{name}` must be a table")),
            (name, _) => wrong(key, unknown(name, &TOP)),
        }
    }
    (hub, problems)
}

fn setting(hub: &mut HubFile, key: &str, node: &Node) -> Result<(), String> {
    match key {
        "listen" => {
            let texts = node.text().map(|text| vec![text]).or_else(|| node.texts());
            let texts = texts.ok_or_else(|| {
                format!("`listen` must be a text or a list of texts, but it is {}", node.kind())
            })?;
            hub.listen = texts.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        }
        "naming" => {
            let known = node.text().filter(|naming| NAMINGS.contains(naming));
            let known = known.ok_or_else(|| format!("`naming` must be one of {}", NAMINGS.join(", ")))?;
            hub.naming = Some(known.to_owned());
        }
        _ => return Err(unknown(key, &HUB)),
    }
    Ok(())
}

/// Reads an entry, or tells everything that is wrong with it.
pub(crate) fn read(name: &str, place: Place, node: &Node, text: &str) -> Result<Written, Vec<Problem>> {
    let problem = |message, place| Problem { server: Some(name.to_owned()), message, place };
    let mut problems = Vec::new();
    let mut tuning = Map::new();
    for (key, value) in node.entries().unwrap_or_default() {
        let key_text = key.text.as_str();
        if ENTRY.contains(&key_text) {
            continue;
        }
        let known: Vec<&str> = ENTRY.iter().chain(&TUNING).copied().collect();
        let json = value.to_json();
        // One key at a time, so that a mistake is told where it stands.
        let alone = Value::Object(Map::from_iter([(key.text.clone(), json.clone())]));
        let wrong = match TUNING.contains(&key_text) {
            false => Some(unknown(key_text, &known)),
            true => {
                serde_json::from_value::<Tuning>(alone).err().map(|error| format!("`{key_text}`: {error}"))
            }
        };
        problems.extend(wrong.map(|message| problem(message, key.at.place(text))));
        tuning.insert(key.text.clone(), json);
    }
    match entry(name, place, node) {
        Ok(written) if problems.is_empty() => Ok(Written { tuning, ..written }),
        Ok(_) => Err(problems),
        Err(message) => {
            problems.insert(0, problem(message, place));
            Err(problems)
        }
    }
}

fn entry(name: &str, place: Place, node: &Node) -> Result<Written, String> {
    if name.trim().is_empty() {
        return Err("a server needs a name".to_owned());
    }
    let mut fields = Fields::of(node)?;
    let text = |text: &str| Template::parse(text, Style::Native);
    let mut written = Written::named(name, place);
    written.command = fields.text(&["command"])?.map(text);
    written.args = fields.texts(&["args"])?.unwrap_or_default().iter().map(|arg| text(arg)).collect();
    let all = |map: std::collections::BTreeMap<String, String>| {
        map.into_iter().map(|(key, value)| (key, text(&value))).collect()
    };
    written.env = all(fields.map(&["env"])?);
    written.headers = all(fields.map(&["headers"])?);
    written.env_file = fields.text(&["env_file"])?.map(text);
    written.cwd = fields.text(&["cwd"])?.map(text);
    written.url = fields.text(&["url"])?.map(text);
    written.built_in = built_in::read(&mut fields, Style::Native)?;
    let is_built_in = written.built_in.is_some();
    if let Some(key) =
        ["root", "embeddings", "compat"].into_iter().find(|key| !is_built_in && node.get(key).is_some())
    {
        return Err(format!("`{key}` is for servers with `builtin`"));
    }
    if is_built_in && (written.command.is_some() || written.url.is_some()) {
        return Err(BUILT_IN_ALONE.to_owned());
    }
    match (kind(fields.text(&["transport", "type"])?)?, &written.url) {
        (Kind::Url(transport), Some(_)) => written.transport = transport,
        (Kind::Url(_), None) => {
            return Err("`transport` is of a server at a `url`, which is missing".to_owned());
        }
        (Kind::Stdio, Some(_)) => {
            return Err("`transport` is `stdio`, which needs a `command`, not a `url`".to_owned());
        }
        (Kind::BuiltIn(what), _) => return Err(format!("the transport `{what}` is unknown")),
        (Kind::Unsaid | Kind::Stdio, _) => {}
    }
    if fields.flag(&["enabled"])? == Some(false) {
        written.standing = Standing::Disabled;
    }
    for (format, rest) in node.get("extra").and_then(Node::entries).unwrap_or_default() {
        if let Value::Object(rest) = rest.to_json() {
            written.extra.insert(format.text.clone(), rest);
        }
    }
    Ok(written)
}

fn unknown(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(meant) => format!("`{key}` is unknown; did you mean `{meant}`?"),
        None => format!("`{key}` is unknown; there are: {}", known.join(", ")),
    }
}
