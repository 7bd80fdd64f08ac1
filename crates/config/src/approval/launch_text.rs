//! A launch as lines that are shown for approval and that a hash binds.
//!
//! Both are made of the written entry, not of its expansion: so the user sees which secrets a server gets, the value of a secret may
//! change without a new approval, and a reference to another secret may not.

use std::{
    collections::BTreeSet,
    fmt,
    time::{Duration, Instant},
};

use serde_json::Value;
use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline};

use crate::{
    WrittenBuiltIn, WrittenServer,
    env::decides_what_runs,
    escape::{quoted, visible},
    launch_hash::{HashFields, hex},
    redact,
    template::Template,
};

/// Settings that give a server no additional access: timeouts, when it starts or restarts, and how calls wait for it.
/// All other settings, future ones included, are bound.
const UNBOUND: [&str; 16] = [
    "connect_timeout",
    "first_byte_timeout",
    "heartbeat",
    "idle_stop",
    "idle_timeout",
    "probe_timeout",
    "restart",
    "restart_delay",
    "revision",
    "serialize_writes",
    "start",
    "startup_timeout",
    "stop_grace",
    "stream_idle_timeout",
    "tool",
    "total_timeout",
];

/// The text of a launch for approval: everything in an entry that decides what runs, what it connects to, and what it gets.
pub(super) struct LaunchText {
    hash: HashFields,
    /// One line per fact, without secrets and with nothing invisible.
    pub(super) lines: Vec<String>,
}

impl LaunchText {
    pub(super) fn of(launch: &WrittenServer) -> Self {
        // Change its number when the fields change their meaning.
        let mut text = Self { hash: HashFields::new("toolbay approval 2"), lines: Vec::new() };
        if let Some(command) = &launch.command {
            text.add_text("command", command, &redact::text(command));
        }
        if let Some(url) = &launch.url {
            text.add_text("url", url, &redact::text(url));
            let transport = launch.transport.name();
            text.add("transport", transport, transport);
        }
        if let Some(built_in) = &launch.built_in {
            text.add_built_in(built_in);
        }
        for (argument, shown) in launch.args.iter().zip(redact::arguments(&launch.args)) {
            text.add_text("argument", argument, &shown);
        }
        text.add_variables(launch);
        for (name, value) in &launch.headers {
            text.add_pair("header", &name.to_ascii_lowercase(), &value.native(), &redact::value(value));
        }
        for (key, value) in launch.oauth.iter().flatten() {
            let shown = if key.ends_with("secret") { redact::value(value) } else { redact::text(value) };
            text.add_pair("oauth", key, &value.native(), &shown);
        }
        text.add_files(launch);
        if let Some(cwd) = &launch.cwd {
            text.add_text("folder", cwd, &redact::text(cwd));
        }
        for (key, value) in &launch.tuning {
            text.add_setting(key, value);
        }
        text
    }

    /// The hash, in hexadecimal digits.
    pub(super) fn hash(self) -> String {
        hex(&self.hash.finish())
    }

    fn add(&mut self, label: &str, exact: impl AsRef<[u8]>, shown: &str) {
        self.hash.add(label, exact);
        self.lines.push(format!("{label}: {shown}"));
    }

    fn add_text(&mut self, label: &str, exact: &Template, shown: &str) {
        self.add(label, exact.native(), &quoted(shown));
    }

    fn add_pair(&mut self, label: &str, name: &str, exact: &str, shown: &str) {
        self.hash.add(label, name);
        self.hash.add("value", exact);
        self.lines.push(format!("{label}: {} = {}", visible(name), quoted(shown)));
    }

    /// Those first that are as good as a command.
    fn add_variables(&mut self, launch: &WrittenServer) {
        let (first, others): (Vec<_>, Vec<_>) =
            launch.env.iter().partition(|(name, _)| decides_what_runs(name));
        for (name, value) in first {
            self.add_pair("variable", name, &value.native(), &redact::powerful_value(name, value));
        }
        for (name, value) in others {
            self.add_pair("variable", name, &value.native(), &redact::value(value));
        }
        if let Some(file) = &launch.env_file {
            self.add_text("reads variables from", file, &redact::text(file));
        }
    }

    /// Files whose content is given to the server.
    fn add_files(&mut self, launch: &WrittenServer) {
        let files: BTreeSet<&str> = launch.texts().flat_map(Template::files).collect();
        files.into_iter().for_each(|file| self.add("reads file", file, &quoted(file)));
    }

    fn add_built_in(&mut self, built_in: &WrittenBuiltIn) {
        let entries = |write: fn(&Template) -> String| {
            built_in.entries(|text| Ok(write(text))).unwrap_or_default().into_iter()
        };
        let shown = built_in.redacted();
        let shown = shown.entries(|text| Ok(redact::text(text))).unwrap_or_default();
        for ((key, exact), (_, shown)) in entries(Template::native).zip(shown) {
            match (key.as_str(), &shown) {
                ("builtin", Value::String(name)) => self.add("built-in", exact.to_string(), &quoted(name)),
                ("root", Value::String(root)) => {
                    let label =
                        if built_in.name() == "codebase" { "shows the folder" } else { "runs programs in" };
                    self.add(label, exact.to_string(), &quoted(root));
                }
                ("directories" | "read" | "write", Value::Array(paths)) => {
                    let paths: Vec<String> = paths.iter().filter_map(Value::as_str).map(quoted).collect();
                    let label = match key.as_str() {
                        "directories" => "uses the directories",
                        "read" => "lets programs read",
                        _ => "lets programs change",
                    };
                    self.add(label, exact.to_string(), &paths.join(", "));
                }
                ("network", Value::String(access)) if access == "allow" => {
                    self.add("lets programs use", exact.to_string(), "the network");
                }
                ("embeddings", Value::Object(shown)) => {
                    self.hash.add("embeddings", exact.to_string());
                    for (key, value) in shown {
                        let value = quoted(value.as_str().unwrap_or_default());
                        self.lines.push(match key.as_str() {
                            "url" => format!("sends code to: {value}"),
                            _ => format!("setting: embeddings.{key} = {value}"),
                        });
                    }
                }
                (_, Value::String(text)) => self.add_pair("setting", &key, &exact.to_string(), text),
                _ => self.add_pair("setting", &key, &exact.to_string(), &shown.to_string()),
            }
        }
    }

    fn add_setting(&mut self, key: &str, value: &Value) {
        if UNBOUND.contains(&key) {
            return;
        }
        let exact = value.to_string();
        match (key, value) {
            ("inherit_env", Value::String(which)) => {
                let shown = match which.as_str() {
                    "all" => "all variables",
                    "none" => "no variables",
                    _ => "the usual variables",
                };
                self.add("inherits", exact, shown);
            }
            ("inherit_env", Value::Array(patterns)) => {
                let shown: Vec<String> = patterns.iter().filter_map(Value::as_str).map(quoted).collect();
                self.add("inherits also", exact, &shown.join(", "));
            }
            ("stderr", Value::Object(file)) => {
                let file = file.get("file").and_then(Value::as_str).unwrap_or_default();
                self.add("writes stderr to", exact, &quoted(file));
            }
            ("ca", Value::String(file)) => self.add("trusts certificates in", exact, &quoted(file)),
            _ => {
                self.hash.add("setting", key);
                self.hash.add("value", &exact);
                self.lines.push(format!("setting: {} = {}", visible(key), visible(&exact)));
            }
        }
    }
}

/// After this time, the lines that are not compared yet count as replaced. Ordinary launches take microseconds; those that take longer
/// differ in everything that matters.
const MAX_TIME: Duration = Duration::from_millis(100);

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// In both.
    Same(String),
    /// In the approved launch only.
    Removed(String),
    /// In the present launch only.
    Added(String),
    /// Something changed that is not shown, such as a secret in an argument.
    HiddenChange,
}

impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(line) => write!(f, "  {line}"),
            Self::Removed(line) => write!(f, "- {line}"),
            Self::Added(line) => write!(f, "+ {line}"),
            Self::HiddenChange => f.write_str("~ a value that is not shown here changed"),
        }
    }
}

/// Compares two lists of lines. Where lines were replaced, the removed ones come before the added ones.
pub fn line_diff(old: &[String], new: &[String]) -> Vec<DiffLine> {
    let deadline = Instant::now() + MAX_TIME;
    let operations = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let changes = operations.iter().flat_map(|operation| operation.iter_changes(old, new));
    let lines = changes.map(|change| match change.tag() {
        ChangeTag::Equal => DiffLine::Same(change.value()),
        ChangeTag::Delete => DiffLine::Removed(change.value()),
        ChangeTag::Insert => DiffLine::Added(change.value()),
    });
    lines.collect()
}
