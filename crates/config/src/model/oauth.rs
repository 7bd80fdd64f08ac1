//! How a protected server is authorized at: the table `oauth` of an entry.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    Secret,
    problem::nearest,
    syntax::Node,
    template::{Style, Template},
};

/// The keys of `oauth`, with the names that other programs have for them.
pub(crate) const KEYS: [(&str, &[&str]); 15] = [
    ("enabled", &[]),
    ("grant", &[]),
    ("client_id", &["clientId", "CLIENT_ID"]),
    ("client_secret", &["clientSecret", "CLIENT_SECRET"]),
    ("private_key_file", &[]),
    ("scopes", &["scope"]),
    ("issuer", &[]),
    ("callback_port", &["callbackPort"]),
    ("dpop", &[]),
    ("allow_private_addresses", &[]),
    ("token_file", &[]),
    ("idp_issuer", &[]),
    ("idp_token_endpoint", &[]),
    ("idp_client_id", &[]),
    ("idp_client_secret", &[]),
];

/// How a server is authorized at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthConfig {
    /// Whether the server is authorized at by ourselves. One that wants something else says 401, too.
    pub is_enabled: bool,
    /// Whether the entry says anything about it.
    pub is_configured: bool,
    /// How tokens are obtained.
    pub grant: OAuthGrant,
    /// A client id that the user registered.
    pub client_id: Option<String>,
    /// Its password.
    pub client_secret: Option<Secret>,
    /// A file with its private key, used instead of a password.
    pub private_key_file: Option<PathBuf>,
    /// Scopes to request in any case.
    pub scopes: Option<String>,
    /// Where the client id is registered.
    pub issuer: Option<String>,
    /// The port for the end of a login.
    pub callback_port: Option<u16>,
    /// Whether tokens are bound to a key wherever the authorization server supports it.
    pub dpop: bool,
    /// Whether authorization servers on private networks are used.
    pub allow_private_addresses: bool,
}

/// How tokens are obtained.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum OAuthGrant {
    /// The user logs in.
    #[default]
    AuthorizationCode,
    /// The client itself is authorized.
    ClientCredentials,
    /// An identity provider vouches for a user who has logged in there.
    EnterpriseManaged {
        /// The issuer of the identity provider.
        issuer: String,
        /// Its token endpoint.
        token_endpoint: String,
        /// Who we are there.
        client_id: String,
        /// The password there.
        client_secret: Option<Secret>,
        /// A file with the ID token of the user.
        token_file: PathBuf,
    },
    /// The platform vouches for the program that runs on it.
    WorkloadIdentity {
        /// A file with the token of the platform.
        token_file: PathBuf,
    },
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            is_enabled: true,
            is_configured: false,
            grant: OAuthGrant::default(),
            client_id: None,
            client_secret: None,
            private_key_file: None,
            scopes: None,
            issuer: None,
            callback_port: None,
            dpop: false,
            allow_private_addresses: false,
        }
    }
}

impl OAuthConfig {
    /// Puts a password where a reference to a secret was.
    pub(crate) fn put_secret(&mut self, key: &str, value: String) -> Option<()> {
        match (key, &mut self.grant) {
            ("client_secret", _) => self.client_secret = Some(Secret::new(value)),
            ("idp_client_secret", OAuthGrant::EnterpriseManaged { client_secret, .. }) => {
                *client_secret = Some(Secret::new(value));
            }
            // It is not used.
            ("idp_client_secret", _) => {}
            _ => return None,
        }
        Some(())
    }
}

/// Which keys are allowed in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownKeys {
    /// None: it is our own format.
    Refused,
    /// Others: they mean something to another program.
    Ignored,
}

/// Reads `oauth` as it is written; the keys get our names.
pub(crate) fn read(
    node: &Node,
    style: Style,
    unknown: UnknownKeys,
) -> Result<BTreeMap<String, Template>, String> {
    let literal = |text: &str| Template::parse(text, Style::Plain);
    if let Node::Flag(flag) = node {
        return Ok(BTreeMap::from([("enabled".to_owned(), literal(&flag.to_string()))]));
    }
    let Some(entries) = node.entries() else {
        return match unknown {
            UnknownKeys::Refused => Err(format!("`oauth` must be a table or a boolean, got {}", node.kind())),
            UnknownKeys::Ignored => Ok(BTreeMap::new()),
        };
    };
    let mut written = BTreeMap::new();
    for (key, node) in entries.iter().filter(|(_, node)| !matches!(node, Node::Null)) {
        let is_meant = |(ours, others): &&(&str, &[&str])| {
            key.text == *ours || (unknown == UnknownKeys::Ignored && others.contains(&key.text.as_str()))
        };
        let Some((name, _)) = KEYS.iter().find(is_meant) else {
            if unknown == UnknownKeys::Ignored {
                continue;
            }
            let known = KEYS.map(|(key, _)| key);
            return Err(match nearest(&key.text, &known) {
                Some(meant) => format!("`oauth.{}` is unknown; did you mean `{meant}`?", key.text),
                None => format!("`oauth.{}` is unknown; expected one of: {}", key.text, known.join(", ")),
            });
        };
        let value = match node {
            Node::Text(text) => Template::parse(text, style),
            Node::Number(number) => literal(&number.to_string()),
            Node::Flag(flag) => literal(&flag.to_string()),
            // Scopes, the only list.
            node => literal(&crate::format::fields::texts(&format!("oauth.{}", key.text), node)?.join(" ")),
        };
        written.insert((*name).to_owned(), value);
    }
    Ok(written)
}

/// A value as a file has it: flags and ports are not texts, and scopes are a list.
pub(crate) fn value(key: &str, text: &str) -> serde_json::Value {
    match key {
        "enabled" | "dpop" | "allow_private_addresses" if text == "true" || text == "false" => {
            (text == "true").into()
        }
        "callback_port" => text.parse::<u16>().map_or_else(|_| text.into(), Into::into),
        "scopes" => text.split_ascii_whitespace().collect(),
        _ => text.into(),
    }
}

/// Checks what is written, with variables expanded. Relative files start at `base`.
pub(crate) fn check(written: &BTreeMap<String, String>, base: &Path) -> Result<OAuthConfig, String> {
    let text = |key: &str| written.get(key).cloned().filter(|text| !text.is_empty());
    let secret = |key: &str| text(key).map(Secret::new);
    let file = |key: &str| text(key).map(|file| base.join(file));
    let flag = |key: &str, default: bool| match text(key).as_deref() {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(format!("`oauth.{key}` must be a boolean")),
    };
    let needed = |key: &str, found: Option<String>| {
        found.ok_or_else(|| format!("`oauth.{key}` is missing, which this `grant` needs"))
    };
    let needed_file =
        |key: &str| file(key).ok_or_else(|| format!("`oauth.{key}` is missing, which this `grant` needs"));
    let grant = match text("grant").as_deref() {
        None | Some("authorization_code") => OAuthGrant::AuthorizationCode,
        Some("client_credentials") => {
            needed("client_id", text("client_id"))?;
            if text("client_secret").is_none() && text("private_key_file").is_none() {
                return Err(
                    "`oauth.client_secret` or `oauth.private_key_file` is missing, one of which the `grant` \
                            `client_credentials` needs"
                        .to_owned(),
                );
            }
            OAuthGrant::ClientCredentials
        }
        Some("enterprise_managed") => {
            needed("client_id", text("client_id"))?;
            OAuthGrant::EnterpriseManaged {
                issuer: needed("idp_issuer", text("idp_issuer"))?,
                token_endpoint: needed("idp_token_endpoint", text("idp_token_endpoint"))?,
                client_id: needed("idp_client_id", text("idp_client_id"))?,
                client_secret: secret("idp_client_secret"),
                token_file: needed_file("token_file")?,
            }
        }
        Some("workload_identity") => OAuthGrant::WorkloadIdentity { token_file: needed_file("token_file")? },
        Some(other) => {
            return Err(format!(
                "unknown `oauth.grant` `{other}`; use `authorization_code`, `client_credentials`, `enterprise_managed` or \
                 `workload_identity`"
            ));
        }
    };
    let callback_port = text("callback_port").map(|port| {
        let port = port.parse::<u16>().ok().filter(|port| *port > 0);
        port.ok_or_else(|| "`oauth.callback_port` must be a port, 1 to 65535".to_owned())
    });
    Ok(OAuthConfig {
        is_enabled: flag("enabled", true)?,
        is_configured: true,
        grant,
        client_id: text("client_id"),
        client_secret: secret("client_secret"),
        private_key_file: file("private_key_file"),
        scopes: text("scopes"),
        issuer: text("issuer"),
        callback_port: callback_port.transpose()?,
        dpop: flag("dpop", false)?,
        allow_private_addresses: flag("allow_private_addresses", false)?,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{ServerEndpoint, parse, schema};

    /// The settings of the only server of a file, or its problem.
    fn oauth(text: &str) -> Result<OAuthConfig, String> {
        let path = if text.starts_with('[') { "/x/toolbay.toml" } else { "/x/mcp.json" };
        let file = parse(text, Path::new(path)).unwrap();
        match (file.servers.first().map(|server| &server.endpoint), file.problems.first()) {
            (Some(ServerEndpoint::Url(remote)), _) => Ok((*remote.oauth).clone()),
            (_, Some(problem)) => Err(problem.message.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn other_programs_have_other_names_for_the_keys() {
        for (entry, format) in [
            (r#""oauth": {"client_id": "c", "callback_port": 3118, "scopes": ["a", "b"]}"#, "ours"),
            (
                r#""oauth": {"clientId": "c", "callbackPort": 3118, "scopes": "a b", "authServerMetadataUrl": "x"}"#,
                "Claude Code",
            ),
            (r#""auth": {"CLIENT_ID": "c", "callbackPort": "3118", "scopes": ["a", "b"]}"#, "Cursor"),
            (r#""oauthClient": {"clientId": "c", "callbackPort": 3118, "scope": "a b"}"#, "Cline"),
        ] {
            let found =
                oauth(&format!(r#"{{"mcpServers": {{"x": {{"url": "https://h/mcp", {entry}}}}}}}"#)).unwrap();
            let expected = OAuthConfig {
                is_configured: true,
                client_id: Some("c".to_owned()),
                callback_port: Some(3118),
                scopes: Some("a b".to_owned()),
                ..OAuthConfig::default()
            };
            assert_eq!(found, expected, "{format}");
        }
        let off = oauth(r#"{"mcpServers": {"x": {"url": "https://h/mcp", "oauth": false}}}"#).unwrap();
        assert!(!off.is_enabled);
    }

    #[test]
    fn what_is_wrong_is_said_without_values() {
        for (keys, expected) in [
            ("client = 'c'", "`oauth.client` is unknown"),
            ("grant = 'password'", "unknown `oauth.grant` `password`"),
            ("grant = 'client_credentials'", "`oauth.client_id` is missing"),
            (
                "grant = 'client_credentials', client_id = 'c'",
                "`oauth.client_secret` or `oauth.private_key_file`",
            ),
            ("grant = 'workload_identity'", "`oauth.token_file` is missing"),
            ("grant = 'enterprise_managed', client_id = 'c'", "`oauth.idp_issuer` is missing"),
            ("callback_port = 70000", "must be a port"),
            ("dpop = 'yes'", "must be a boolean"),
        ] {
            let text = format!("[servers.x]\nurl = 'https://h/mcp'\noauth = {{ {keys} }}\n");
            let problem = oauth(&text).unwrap_err();
            assert!(problem.contains(expected), "{keys}: {problem}");
        }
    }

    #[test]
    fn the_schema_has_the_keys() {
        let schema = schema();
        let properties = schema["definitions"]["oauth"]["properties"].as_object().unwrap();
        let mut known = KEYS.map(|(key, _)| key);
        known.sort_unstable();
        assert!(properties.keys().map(String::as_str).eq(known), "{properties:?}");
    }
}
