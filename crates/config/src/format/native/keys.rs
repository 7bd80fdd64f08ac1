//! All keys of `toolbay.toml`. The schema has the same, and a test sees to it.

/// At the root.
pub(crate) const TOP: [&str; 2] = ["hub", "servers"];

/// In `[hub]`.
pub(crate) const HUB: [&str; 12] = [
    "listen",
    "naming",
    "token_file",
    "tls_cert",
    "tls_key",
    "public_name",
    "allow_origin",
    "allow_unauthenticated",
    "allow_local_users",
    "share",
    "linger",
    "first_list_wait",
];

/// In `[servers.NAME]`: what the server is.
pub(crate) const ENTRY: [&str; 16] = [
    "command",
    "args",
    "env",
    "env_file",
    "cwd",
    "url",
    "transport",
    "type",
    "headers",
    "builtin",
    "root",
    "embeddings",
    "compat",
    "secrets",
    "enabled",
    "extra",
];

/// The name that a setting of a server has now, and what to say of one that is written under its former name.
pub(crate) fn current_name(key: &str) -> (&str, Option<&'static str>) {
    match key {
        "era" => ("revision", Some("`era` is now called `revision`; the former name is still read")),
        _ => (key, None),
    }
}

/// In `[servers.NAME]`: how it is treated, the fields of `ServerOptions`.
pub(crate) const TUNING: [&str; 26] = [
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
    "max_in_flight",
    "max_waiting",
    "serialize_writes",
    "max_message",
    "roots",
    "start",
    "idle_stop",
    "heartbeat",
    "instances",
    "stderr",
    "inherit_env",
    "tools",
    "tool",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ServerOptions;

    #[test]
    fn the_keys_are_the_fields() {
        let error = serde_json::from_value::<ServerOptions>(json!({ "no such": 1 })).unwrap_err().to_string();
        let (_, fields) = error.split_once("expected one of ").unwrap();
        let fields: Vec<&str> = fields.split(", ").map(|field| field.trim_matches('`')).collect();
        assert_eq!(fields, TUNING);
    }
}
