//! Our own `toolbay.toml`.
//!
//! `[servers.NAME]` has the keys of an entry and the settings of the server, side by side; `[hub]` has the settings of the hub,
//! `[auth]` says who may use it, `[profiles.NAME]` and `[policy]` what they see and may do, `[audit]` what is recorded. An unknown key is an error, and is
//! reported with its line and column.

mod audit;
mod auth;
mod hub;
mod policy;
mod profiles;
mod secret_commands;

use serde_json::{Map, Value};

use crate::{
    Location, Permission, Problem, ServerOptions, WrittenBuiltIn, WrittenServer,
    format::{
        entry::refuse_launch_keys,
        fields::EntryFields,
        remote::{TransportKind, transport_kind},
    },
    model::{
        built_in::{self, keys},
        oauth::{self, UnknownKeys},
    },
    problem::{LineIndex, Remark, nearest},
    syntax::Node,
    template::{Style, Template},
};

pub use audit::{AuditFailure, AuditFile, AuditSection};
pub use auth::{AuthFile, AuthProxyFile, AuthSection, ClaimFile, ClientSecret, IntrospectionFile};
pub(crate) use hub::hub;
pub use hub::{HubFile, Listen};
pub use policy::PolicySection;
pub use profiles::ProfileEntry;
pub use secret_commands::SecretCommands;

/// How many errors are reported for one entry, or for the rest of a file.
pub(crate) const MOST_PROBLEMS: usize = 16;

/// At the root.
pub(crate) const TOP: [&str; 7] =
    ["audit", "auth", "hub", "policy", "profiles", "secret_commands", "servers"];

/// In `[hub]`.
pub(crate) const HUB: [&str; 22] = [
    "listen",
    "naming",
    "token_file",
    "tls_cert",
    "tls_key",
    "public_url",
    "public_name",
    "allow_origin",
    "allow_unauthenticated",
    "allow_local_users",
    "share",
    "linger",
    "first_list_wait",
    "builtins",
    "exposure",
    "exposure_budget",
    "always_listed",
    "client_exposure",
    "code_mode",
    "code_sandbox",
    "max_result",
    "schema_view",
];

/// In `[servers.NAME]`: the keys of an entry.
pub(crate) const ENTRY: [&str; 13] = [
    "command",
    "args",
    "env",
    "env_file",
    "cwd",
    "url",
    "transport",
    "type",
    "headers",
    "oauth",
    "builtin",
    "enabled",
    "extra",
];

/// In `[servers.NAME]`: settings, the fields of `ServerOptions`.
pub(crate) const TUNING: [&str; 31] = [
    "startup_timeout",
    "idle_timeout",
    "total_timeout",
    "probe_timeout",
    "stop_grace",
    "restart",
    "restart_delay",
    "connect_timeout",
    "first_byte_timeout",
    "stream_idle_timeout",
    "ca",
    "revision",
    "validate",
    "pins",
    "validate_output",
    "max_in_flight",
    "max_waiting",
    "serialize_writes",
    "max_message",
    "max_result",
    "roots",
    "start",
    "idle_stop",
    "heartbeat",
    "instances",
    "allow_shared",
    "stderr",
    "inherit_env",
    "secrets_in_args",
    "tools",
    "tool",
];

/// Reads an entry, or returns all its errors; `remarks` collects warnings.
pub(crate) fn read(
    name: &str,
    place: Location,
    node: &Node,
    places: &LineIndex<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<WrittenServer, Vec<Problem>> {
    let problem = |message, place| Problem { server: Some(name.to_owned()), message, location: place };
    let mut problems = Vec::new();
    let mut tuning = Map::new();
    let written = entry(name, place, node);
    let built_in = written.as_ref().ok().and_then(|written| written.built_in.as_ref());
    let own_keys: Vec<&str> = built_in.map_or(Vec::new(), WrittenBuiltIn::key_names);
    let known: Vec<&str> = ENTRY.iter().chain(&TUNING).chain(&own_keys).copied().collect();
    for (key, value) in node.entries().unwrap_or_default() {
        let (key_text, former) = current_name(&key.text);
        remarks.extend(former.map(|message| Remark { message: message.to_owned(), at: Some(key.at) }));
        if ENTRY.contains(&key_text) || own_keys.contains(&key_text) {
            continue;
        }
        let json = value.to_json();
        // One key at a time, so that an error is reported at its location.
        let is_setting = TUNING.contains(&key_text);
        let of_built_in =
            || built_in::unknown_key(built_in, key_text).filter(|_| !is_setting && written.is_ok());
        if let Some(message) = of_built_in().or_else(|| tuning_fault(key_text, &json, &known)) {
            let is_last = problems.len() + 1 == MOST_PROBLEMS;
            let message = if is_last { format!("{message}; and more") } else { message };
            problems.push(problem(message, places.place(key.at)));
            if is_last {
                break;
            }
        }
        tuning.insert(key_text.to_owned(), json);
    }
    match written {
        Ok(written) if problems.is_empty() => Ok(WrittenServer { tuning, ..written }),
        Ok(_) => Err(problems),
        Err(message) => {
            problems.insert(0, problem(message, place));
            Err(problems)
        }
    }
}

fn entry(name: &str, place: Location, node: &Node) -> Result<WrittenServer, String> {
    if name.trim().is_empty() {
        return Err("a server needs a name".to_owned());
    }
    let mut fields = EntryFields::of(node)?;
    let text = |text: &str| Template::parse(text, Style::Native);
    let mut written = WrittenServer::named(name, place);
    written.command = fields.text(&["command"])?.map(text);
    written.args = fields.texts(&["args"])?.unwrap_or_default().iter().map(|arg| text(arg)).collect();
    let all = |map: std::collections::BTreeMap<String, String>| {
        map.into_iter().map(|(key, value)| (key, text(&value))).collect()
    };
    written.env = all(fields.map(&["env"])?);
    written.headers = all(fields.map(&["headers"])?);
    let oauth = fields.take(&["oauth"]);
    written.oauth =
        oauth.map(|(_, node)| oauth::read(node, Style::Native, UnknownKeys::Refused)).transpose()?;
    written.env_file = fields.text(&["env_file"])?.map(text);
    written.cwd = fields.text(&["cwd"])?.map(text);
    written.url = fields.text(&["url"])?.map(text);
    written.built_in = built_in::read(&mut fields, Style::Native)?;
    let is_built_in = written.built_in.is_some();
    if is_built_in {
        refuse_launch_keys(&written)?;
    }
    match (transport_kind(fields.text(&["transport", "type"])?)?, &written.url) {
        (TransportKind::Url(transport), Some(_)) => written.transport = transport,
        (TransportKind::Url(_), None) => {
            return Err("`transport` requires a `url`, which is missing".to_owned());
        }
        (TransportKind::Stdio, Some(_)) => {
            return Err("`transport` is `stdio`, which requires a `command`, not a `url`".to_owned());
        }
        (TransportKind::BuiltIn(what), _) => return Err(format!("unknown transport `{what}`")),
        (TransportKind::Unsaid | TransportKind::Stdio, _) => {}
    }
    if fields.flag(&["enabled"])? == Some(false) {
        written.permission = Permission::Disabled;
    }
    for (format, rest) in node.get("extra").and_then(Node::entries).unwrap_or_default() {
        if let Value::Object(rest) = rest.to_json() {
            written.extra.insert(format.text.clone(), rest);
        }
    }
    Ok(written)
}

/// Returns the error of a setting and its value; `known` are the keys for suggestions.
pub(crate) fn tuning_fault(key: &str, value: &Value, known: &[&str]) -> Option<String> {
    if !TUNING.contains(&key) {
        return Some(unknown(key, known));
    }
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    serde_json::from_value::<ServerOptions>(alone).err().map(|error| format!("`{key}`: {error}"))
}

fn unknown(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(meant) => format!("`{key}` is unknown; did you mean `{meant}`?"),
        None => format!("`{key}` is unknown; expected one of: {}", known.join(", ")),
    }
}

/// The current name of a setting, and a warning if `key` is a former name.
pub(crate) fn current_name(key: &str) -> (&str, Option<&'static str>) {
    match key {
        "era" => ("revision", Some("`era` is now called `revision`; the former name is still read")),
        _ => (key, None),
    }
}

/// The JSON Schema of `toolbay.toml`, for editors.
const SCHEMA: &str = include_str!("../schema.json");

/// The schema, in the draft that editors know best.
pub fn schema() -> Value {
    let mut schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON: a test reads it");
    if let Some(Value::Object(entry)) = schema.pointer_mut("/definitions/server") {
        keys::add_to_schema(entry);
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        hub::{NAMINGS, SCHEMA_VIEWS},
        *,
    };

    #[test]
    fn the_keys_are_the_fields() {
        let error = serde_json::from_value::<ServerOptions>(json!({ "no such": 1 })).unwrap_err().to_string();
        let (_, fields) = error.split_once("expected one of ").unwrap();
        let fields: Vec<&str> = fields.split(", ").map(|field| field.trim_matches('`')).collect();
        assert_eq!(fields, TUNING);
    }

    fn keys(schema: &Value, pointer: &str) -> Vec<String> {
        let mut keys: Vec<String> =
            schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let server: Vec<&str> = ENTRY.into_iter().chain(TUNING).chain(keys::all_keys()).collect();
        for (pointer, known) in [
            ("/properties", &TOP[..]),
            ("/properties/hub/properties", &HUB),
            ("/properties/audit/properties", &audit::KEYS),
            ("/properties/auth/properties", &auth::KEYS),
            ("/properties/policy/properties", &policy::KEYS),
            ("/definitions/rule/properties", &policy::RULE_KEYS),
            ("/definitions/argument_condition/properties", &policy::CONDITION_KEYS),
            ("/definitions/profile/properties", &profiles::KEYS),
            ("/definitions/server/properties", &server),
        ] {
            let mut known = known.to_vec();
            known.sort_unstable();
            assert_eq!(keys(&schema, pointer), known, "{pointer}");
        }
        assert_eq!(schema["properties"]["hub"]["properties"]["naming"]["enum"], json!(NAMINGS));
        assert_eq!(schema["properties"]["hub"]["properties"]["schema_view"]["enum"], json!(SCHEMA_VIEWS));
        assert_eq!(schema["definitions"]["profile"]["properties"]["naming"]["enum"], json!(NAMINGS));
        assert_eq!(schema["definitions"]["rule"]["properties"]["action"]["enum"], json!(policy::ACTIONS));
        let exposures = toolbay_policy::Exposure::ALL.map(toolbay_policy::Exposure::as_str);
        assert_eq!(schema["definitions"]["profile"]["properties"]["exposure"]["enum"], json!(exposures));
    }
}
