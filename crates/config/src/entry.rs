//! An entry as the user wrote it.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::Value;
use toolbay_protocol::ServerName;

use crate::{Command, Reach, Remote, ServerConfig, Standing, Tuning, remote};

/// An entry of `mcpServers`. Keys that other programs put there are theirs and stay unread.
#[derive(Debug, Deserialize)]
struct EntryFile {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    enabled: Option<bool>,
    #[serde(default)]
    toolbay: Tuning,
}

/// Checks one entry; the error is a sentence for people.
pub(crate) fn check(name: &str, value: Value, base: &Path) -> Result<ServerConfig, String> {
    if name.trim().is_empty() {
        return Err("a server needs a name".to_owned());
    }
    let entry: EntryFile = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let standing = match entry.disabled || entry.enabled == Some(false) {
        true => Standing::Disabled,
        false => Standing::Enabled,
    };
    let reach = match (entry.command, entry.url) {
        (Some(_), Some(_)) => return Err("`command` and `url` exclude each other".to_owned()),
        (Some(command), None) => {
            let cwd = entry.cwd.map(|cwd| base.join(cwd));
            if entry.toolbay.ca.is_some() {
                return Err("`toolbay.ca` is for servers at a `url`".to_owned());
            }
            Reach::Command(check_command(Command { command, args: entry.args, env: entry.env, cwd })?)
        }
        (None, Some(url)) => {
            let ca = entry.toolbay.ca.as_deref().map(|file| remote::read_ca(&base.join(file))).transpose()?;
            let remote = remote::check(&url, entry.kind.as_deref(), &entry.headers)?;
            Reach::Url(Remote { ca: ca.unwrap_or_default(), ..remote })
        }
        (None, None) => return Err("`command` is missing, or `url`".to_owned()),
    };
    Ok(ServerConfig { name: ServerName::new(name), reach, standing, tuning: entry.toolbay })
}

fn check_command(command: Command) -> Result<Command, String> {
    if command.command.trim().is_empty() {
        return Err("`command` is empty".to_owned());
    }
    let nul = |text: &str| text.contains('\0');
    let env_is_odd =
        command.env.iter().any(|(key, value)| key.is_empty() || key.contains('=') || nul(key) || nul(value));
    if nul(&command.command) || command.args.iter().any(|arg| nul(arg)) || env_is_odd {
        return Err("`command`, `args` and `env` must not contain NUL, nor an `env` name `=`".to_owned());
    }
    Ok(command)
}

/// Durations as people write them: `"500ms"`, `"2s"`, `"1.5s"`, `"10m"`, or a number of seconds.
pub(crate) mod duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(f64),
        Text(String),
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let (number, unit) = match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => (seconds, 1.0),
            Written::Text(text) => {
                let text = text.trim();
                let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
                let unit = match &text[split..] {
                    "ms" => 0.001,
                    "s" | "" => 1.0,
                    "m" | "min" => 60.0,
                    "h" => 3600.0,
                    other => {
                        return Err(D::Error::custom(format!("unknown unit `{other}`; use ms, s, m or h")));
                    }
                };
                let number: f64 = text[..split].trim().parse().map_err(|_| {
                    D::Error::custom(format!("`{text}` is no duration; write for example \"2s\""))
                })?;
                (number, unit)
            }
        };
        Duration::try_from_secs_f64(number * unit)
            .map(Some)
            .map_err(|_| D::Error::custom("a duration must be positive and finite"))
    }
}
