//! Entries of client formats, converted to one form.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{
    Format, Location, Permission, Transport, WrittenServer,
    format::{
        Timeout,
        fields::{self, EntryFields, texts},
        native::{TUNING, current_name, tuning_fault},
        remote::{TransportKind, transport_kind},
    },
    model::{
        built_in, duration,
        oauth::{self, UnknownKeys},
    },
    problem::{Remark, nearest},
    syntax::Node,
    template::{MissingValue, Style, Template},
};

/// The keys that say how a server is run or reached, which a built-in server is not.
pub(crate) const LAUNCH_KEYS: [&str; 8] =
    ["command", "url", "args", "env", "env_file", "cwd", "headers", "oauth"];

/// Refuses the keys of an entry with `builtin` that would have no effect.
pub(crate) fn refuse_launch_keys(written: &WrittenServer) -> Result<(), String> {
    let given = [
        written.command.is_some(),
        written.url.is_some(),
        !written.args.is_empty(),
        !written.env.is_empty(),
        written.env_file.is_some(),
        written.cwd.is_some(),
        !written.headers.is_empty(),
        written.oauth.is_some(),
    ];
    match LAUNCH_KEYS.iter().zip(given).find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(format!("`builtin` cannot be combined with `{key}`")),
        None => Ok(()),
    }
}

/// The result of reading an entry.
pub(crate) enum EntryResult {
    Server(Box<WrittenServer>),
    /// A server that an extension describes.
    Extension(Extension),
    /// It is not a server that we can run, and not an error; with the reason.
    Elsewhere(String),
}

/// A server of which the file holds the settings alone: an extension knows how to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// The key of its entry.
    pub name: String,
    /// The settings for the extension.
    pub settings: Value,
    /// Whether it may run.
    pub permission: Permission,
    /// The location of the entry.
    pub location: Location,
}

/// An endpoint other than a command or a URL.
enum OtherEndpoint {
    Here,
    Extension,
    Elsewhere(String),
}

/// Reads an entry. The error is a message for the user; `remarks` collects warnings.
pub(crate) fn read(
    name: &str,
    place: Location,
    node: &Node,
    format: Format,
    remarks: &mut Vec<Remark>,
) -> Result<EntryResult, Remark> {
    if name.trim().is_empty() {
        return Err("a server needs a name".to_owned().into());
    }
    let (mut notes, odd) = (Vec::new(), misspelled(node));
    let notes = &mut notes;
    let mut fields = EntryFields::of(node)?;
    // Cline has the keys of the connection in an object of its own, and so had goose.
    let is_table = |node: &Node| node.entries().is_some();
    let nested = ["transport", "config"].into_iter().find_map(|key| fields.take_if(key, is_table));
    let mut connection = EntryFields::of(nested.unwrap_or(node))?;
    let mut reader =
        EntryReader { written: WrittenServer::named(name, place), style: format.style(), format };
    // Where a key is missing, a similar one is the likely reason.
    let other = reader.endpoint(&mut connection, notes).map_err(|message| match odd.first() {
        Some(remark) => remark.clone(),
        None => message.into(),
    })?;
    if nested.is_none() {
        // Both read the same keys: those that one took are not kept by the other.
        fields = connection;
    }
    for key in ["id", "name"] {
        fields.take_if(key, |node| node.text() == Some(name));
    }
    reader.permission(&mut fields)?;
    read_timeouts(&mut fields, format, &mut reader.written.tuning, notes);
    read_tool_filter(&mut fields, &mut reader.written.tuning)?;
    reader.tuning(&mut fields, notes)?;
    let rest = fields.rest();
    let built_in = reader.written.built_in.as_ref();
    if let Some(message) = rest.keys().find_map(|key| built_in.and(built_in::unknown_key(built_in, key))) {
        return Err(message.into());
    }
    reader.keep(rest);
    remarks.extend(notes.drain(..).map(Remark::from).chain(odd));
    Ok(match other {
        OtherEndpoint::Here => EntryResult::Server(Box::new(reader.written)),
        OtherEndpoint::Extension => {
            let settings = node.get("settings").map(Node::to_json).unwrap_or_default();
            EntryResult::Extension(Extension {
                name: name.to_owned(),
                settings,
                permission: reader.written.permission,
                location: place,
            })
        }
        OtherEndpoint::Elsewhere(why) => EntryResult::Elsewhere(why),
    })
}

struct EntryReader {
    written: WrittenServer,
    style: Style,
    format: Format,
}

impl EntryReader {
    /// Reads the endpoint.
    fn endpoint(
        &mut self,
        fields: &mut EntryFields<'_>,
        notes: &mut Vec<String>,
    ) -> Result<OtherEndpoint, String> {
        let kind = transport_kind(fields.text(&["type", "transportType", "transport"])?)?;
        self.written.built_in = built_in::read(fields, self.style)?;
        self.command(fields)?;
        self.url(fields, kind, notes)?;
        read_credentials(fields, &mut self.written, self.format, notes)?;
        if self.written.built_in.is_some() {
            refuse_launch_keys(&self.written)?;
            return Ok(OtherEndpoint::Here);
        }
        match (kind, &self.written.command, &self.written.url) {
            (TransportKind::BuiltIn(what), None, None) => {
                Ok(OtherEndpoint::Elsewhere(format!("`{what}` is built into {}; skipped", self.format)))
            }
            (_, Some(_), Some(_)) => Err("`command` and `url` cannot be used together".to_owned()),
            (TransportKind::Stdio, None, Some(_)) => {
                Err("`type` is `stdio`, which requires a `command`, not a `url`".to_owned())
            }
            (_, None, None) => self.nowhere(fields),
            (TransportKind::Url(_), Some(_), None) => {
                notes.push(
                    "`type` is for a server at a URL, but there is a `command`, which is used".to_owned(),
                );
                Ok(OtherEndpoint::Here)
            }
            _ => Ok(OtherEndpoint::Here),
        }
    }

    /// Neither a command nor a URL.
    fn nowhere(&self, fields: &mut EntryFields<'_>) -> Result<OtherEndpoint, String> {
        let rest = fields.rest();
        if rest.contains_key("tcp") {
            return Err(
                "`tcp` is not supported; use `httpUrl`, or a `url` that begins with `ws://`".to_owned()
            );
        }
        match self.format {
            Format::OpenCode if rest.contains_key("enabled") => Ok(OtherEndpoint::Elsewhere(
                "it only enables or disables a server of another file".to_owned(),
            )),
            Format::Zed if rest.contains_key("settings") || rest.contains_key("source") => {
                Ok(OtherEndpoint::Extension)
            }
            _ => Err("`command` or `url` is missing".to_owned()),
        }
    }

    fn command(&mut self, fields: &mut EntryFields<'_>) -> Result<(), String> {
        let style = self.style;
        let mut args = fields.texts(&["args"])?.unwrap_or_default();
        let mut env = fields.map(&["env", "environment", "envs"])?;
        match fields.take(&["command", "cmd"]) {
            None => {}
            Some((_, Node::Text(command))) => self.written.command = Some(Template::parse(command, style)),
            Some((key, node @ Node::List(_))) => {
                let mut words = texts(key, node)?.into_iter();
                let command = words.next().ok_or_else(|| format!("`{key}` is empty"))?;
                self.written.command = Some(Template::parse(&command, style));
                args = words.chain(args).collect();
            }
            Some((key, node @ Node::Map(_))) => {
                let mut inner = EntryFields::of(node)?;
                let path =
                    inner.text(&["path", "command"])?.ok_or_else(|| format!("`{key}.path` is missing"))?;
                self.written.command = Some(Template::parse(path, style));
                args = inner.texts(&["args"])?.unwrap_or(args);
                env.extend(inner.map(&["env"])?);
            }
            Some((key, node)) => return Err(format!("`{key}` must be a string, got {}", node.kind())),
        }
        let parse = |text: &String| Template::parse(text, style);
        self.written.args = args.iter().map(parse).collect();
        self.written.env = env.iter().map(|(name, value)| (name.clone(), parse(value))).collect();
        self.written.cwd = fields
            .text(&["cwd", "working_directory", "workingDirectory"])?
            .map(|cwd| Template::parse(cwd, style));
        self.written.env_file =
            fields.text(&["envFile", "env_file"])?.map(|file| Template::parse(file, style));
        Ok(())
    }

    fn url(
        &mut self,
        fields: &mut EntryFields<'_>,
        kind: TransportKind,
        notes: &mut Vec<String>,
    ) -> Result<(), String> {
        let keys = ["httpUrl", "url", "serverUrl", "uri", "base_url", "baseUrl"];
        let Some((key, node)) = fields.take(&keys) else { return Ok(()) };
        let url = node.text().ok_or_else(|| format!("`{key}` must be a string, got {}", node.kind()))?;
        self.written.url = Some(Template::parse(url, self.style));
        self.written.transport = match kind {
            TransportKind::Url(transport) => transport,
            _ if key == "httpUrl" => Transport::Http,
            _ if url.starts_with("ws:") || url.starts_with("wss:") => Transport::Auto,
            TransportKind::Unsaid => {
                if self.format == Format::Roo {
                    notes.push("Roo requires a `type` with a `url`; the transport is detected".to_owned());
                }
                self.format.bare_url()
            }
            _ => Transport::Auto,
        };
        Ok(())
    }

    fn permission(&mut self, fields: &mut EntryFields<'_>) -> Result<(), String> {
        let disabled = fields.flag(&["disabled"])? == Some(true);
        let enabled = fields.flag(&["enabled"])? != Some(false);
        if disabled || !enabled {
            self.written.permission = Permission::Disabled;
        }
        Ok(())
    }

    /// Reads our own object in entries of other programs; it takes precedence over their keys.
    fn tuning(&mut self, fields: &mut EntryFields<'_>, notes: &mut Vec<String>) -> Result<(), Remark> {
        match fields.take(&["toolbay"]) {
            None => Ok(()),
            Some((_, Node::Map(own))) => {
                for (key, node) in own {
                    let value = node.to_json();
                    let (name, former) = current_name(&key.text);
                    notes.extend(former.map(|message| format!("`toolbay`: {message}")));
                    if let Some(message) = tuning_fault(name, &value, &TUNING) {
                        return Err(Remark { message: format!("`toolbay`: {message}"), at: Some(key.at) });
                    }
                    self.written.tuning.insert(name.to_owned(), value);
                }
                Ok(())
            }
            Some((key, node)) => Err(format!("`{key}` must be a table, got {}", node.kind()).into()),
        }
    }

    fn keep(&mut self, rest: Map<String, Value>) {
        if !rest.is_empty() {
            self.written.extra.insert(self.format.name().to_owned(), rest);
        }
    }
}

fn read_credentials(
    fields: &mut EntryFields<'_>,
    written: &mut WrittenServer,
    format: Format,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let style = format.style();
    for (name, value) in fields.map(&["headers", "http_headers"])? {
        written.headers.insert(name, Template::parse(&value, style));
    }
    // Codex: values are names of variables.
    for (name, variable) in fields.map(&["env_http_headers"])? {
        written.headers.insert(name, Template::of_env("", &variable, MissingValue::LeavesOut));
    }
    if let Some(variable) = fields.text(&["bearer_token_env_var"])? {
        written.headers.insert(
            "Authorization".to_owned(),
            Template::of_env("Bearer ", variable, MissingValue::LeavesOut),
        );
    }
    // Codex passes variables that are set; goose has these in its keyring, and requires them.
    for (key, lack) in [("env_vars", MissingValue::IsFine), ("env_keys", MissingValue::LeavesOut)] {
        let Some((key, node)) = fields.take(&[key]) else { continue };
        let names = node.list().ok_or_else(|| format!("`{key}` must be an array, got {}", node.kind()))?;
        for name in names.iter().filter_map(name_of) {
            written.env.entry(name.to_owned()).or_insert_with(|| Template::of_env("", name, lack));
        }
    }
    // Cursor, Cline and Codex have names of their own. What we do not know of it is kept for export, with the rest.
    let is_ours = format == Format::McpServers;
    let table = if is_ours { fields.take(&["oauth"]).map(|(_, node)| node) } else { None };
    let theirs = ["oauth", "auth", "oauthClient"].into_iter().find_map(|key| fields.peek(key));
    let node = table.or(theirs.filter(|node| node.entries().is_some() || matches!(node, Node::Flag(_))));
    if let Some(node) = node.filter(|_| written.url.is_some()) {
        let oauth = oauth::read(node, style, UnknownKeys::Ignored)?;
        written.oauth = Some(oauth).filter(|oauth| !oauth.is_empty());
    }
    for key in ["headersHelper", "http_headers_helper"] {
        if fields.take(&[key]).is_some() {
            notes.push(format!("`{key}` is not supported; put the headers into `headers`"));
        }
    }
    Ok(())
}

/// A name, or an object with one and where its value comes from.
fn name_of(node: &Node) -> Option<&str> {
    node.text().or_else(|| node.get("name")?.text())
}

fn read_tool_filter(entry: &mut EntryFields<'_>, tuning: &mut Map<String, Value>) -> Result<(), String> {
    let mut allow = entry.texts(&["includeTools", "enabled_tools"])?;
    // For goose, none in the list means all.
    let available = entry.texts(&["available_tools"])?.filter(|tools| !tools.is_empty());
    let listed = entry.take_if("tools", |node| node.list().is_some());
    let listed = listed.map(|node| fields::texts("tools", node)).transpose()?;
    allow = allow.or(available).or(listed).filter(|tools| !tools.iter().any(|tool| tool == "*"));
    let deny = entry.texts(&["excludeTools", "disabled_tools", "disabledTools"])?.unwrap_or_default();
    // Gemini lets arguments follow in brackets.
    let bare = |tools: Vec<String>| -> Vec<String> {
        tools.into_iter().map(|tool| tool.split('(').next().unwrap_or_default().trim().to_owned()).collect()
    };
    let mut filter = Map::new();
    if let Some(allow) = allow {
        filter.insert("allow".to_owned(), json!(bare(allow)));
    }
    if !deny.is_empty() {
        filter.insert("deny".to_owned(), json!(bare(deny)));
    }
    if !filter.is_empty() {
        tuning.insert("tools".to_owned(), Value::Object(filter));
    }
    Ok(())
}

/// The most that Cline and Roo know; more is a number of milliseconds, most likely.
const HOUR: f64 = 3600.0;

/// Our own keys for the timeouts of other formats.
const CALL: &[&str] = &["idle_timeout", "total_timeout"];
const START: &[&str] = &["startup_timeout"];

/// Converts timeouts to ours. An implausible value is reported and never fails an entry.
fn read_timeouts(
    fields: &mut EntryFields<'_>,
    format: Format,
    tuning: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) {
    let (ours, unit) = match format.timeout() {
        Timeout::Milliseconds => (CALL, 0.001),
        Timeout::StartMilliseconds => (START, 0.001),
        Timeout::Seconds | Timeout::SecondsOfAnHour => (CALL, 1.0),
    };
    let mut found = Vec::new();
    if let Some(several) = fields.take_if("timeout", |node| node.entries().is_some()) {
        // Newer versions of opencode have several timeouts.
        for (key, ours) in [("startup", START), ("request", CALL), ("execution", CALL)] {
            found.extend(several.get(key).map(|node| (key, ours, 0.001, node)));
        }
    } else {
        found.extend(fields.take(&["timeout"]).map(|(key, node)| (key, ours, unit, node)));
    }
    for (key, ours, unit) in [
        ("request_timeout_ms", CALL, 0.001),
        ("tool_timeout_sec", CALL, 1.0),
        ("startup_timeout_ms", START, 0.001),
        ("startup_timeout_sec", START, 1.0),
    ] {
        found.extend(fields.take(&[key]).map(|(key, node)| (key, ours, unit, node)));
    }
    for (key, ours, unit, node) in found {
        let Some(number) = node.number().filter(|number| *number > 0.0 && number.is_finite()) else {
            notes.push(format!("`{key}` must be a number above 0; the default is used"));
            continue;
        };
        let mut seconds = number * unit;
        if key == "timeout" && format.timeout() == Timeout::Milliseconds && number < 1000.0 {
            notes.push(format!(
                "`timeout` is in milliseconds, and {number} is implausibly short; the default is used"
            ));
            continue;
        }
        if key == "timeout" && format.timeout() == Timeout::SecondsOfAnHour && seconds > HOUR {
            notes.push(format!("`timeout` is in seconds, at most 3600; {number} is reduced to that"));
            seconds = HOUR;
        }
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) => {
                let time = Value::String(duration::text(time));
                tuning.extend(ours.iter().map(|ours| ((*ours).to_owned(), time.clone())));
            }
            Err(_) => notes.push(format!("`{key}` is too large; the default is used")),
        }
    }
}

/// Keys that describe a server in client formats.
const KEYS: [&str; 26] = [
    "command",
    "args",
    "env",
    "environment",
    "cwd",
    "workingDirectory",
    "working_directory",
    "envFile",
    "env_file",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "env_vars",
    "type",
    "transport",
    "disabled",
    "enabled",
    "timeout",
    "includeTools",
    "excludeTools",
    "builtin",
    "toolbay",
];

/// Keys with a meaning of their own that look like one of [`KEYS`].
const OTHERS: [&str; 12] = [
    "cmd",
    "envs",
    "uri",
    "tools",
    "tool",
    "envVars",
    "base_url",
    "baseUrl",
    "transportType",
    "disable",
    "root",
    "era",
];

/// The keys of an entry that look like another one.
///
/// Programs put many keys of their own into entries, and all of them are kept. So a key is only spoken of if it is
/// almost, but not quite, one that matters.
fn misspelled(node: &Node) -> Vec<Remark> {
    let entries = node.entries().unwrap_or_default();
    let is_there = |meant: &str| entries.iter().any(|(key, _)| key.text == meant);
    let odd = entries.iter().filter_map(|(key, _)| {
        let text = key.text.as_str();
        let is_known = KEYS.contains(&text) || OTHERS.contains(&text);
        // A key that is present already was not misspelled.
        let meant = nearest(text, &KEYS).filter(|meant| !is_known && !is_there(meant))?;
        let message = format!("`{text}` is unknown; did you mean `{meant}`?");
        Some(Remark { message, at: Some(key.at) })
    });
    odd.collect()
}
