//! What makes two processes, or two connections, the same.

use std::{fmt, os::unix::ffi::OsStrExt};

use sha2::{Digest, Sha256};

use crate::{
    BuiltIn, Command, InheritEnv, OAuthConfig, Remote, SecretField, ServerConfig, ServerEndpoint, Template,
    WrittenServer,
};

/// A hash over everything that makes up the launch of a server: two entries with the same hash may share a process, and a cached
/// catalog.
///
/// It covers the values of variables and headers, which cannot be recovered from it, but the names of secrets instead of their values. It is the same on every run and every
/// machine, so it can name a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchHash([u8; 32]);

impl fmt::Display for LaunchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl fmt::Debug for LaunchHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LaunchHash({self})")
    }
}

impl ServerConfig {
    /// The hash of this server's launch. Its name, timeouts and tool filters are not part of it.
    pub fn launch_hash(&self) -> LaunchHash {
        let mut fields = HashFields::new("toolbay launch 1");
        match &self.endpoint {
            ServerEndpoint::Command(command) => {
                add_command(&mut fields, command);
                add_inherited(&mut fields, &self.tuning.inherit_env);
            }
            ServerEndpoint::Url(remote) => add_remote(&mut fields, remote),
            ServerEndpoint::BuiltIn(built_in) => add_built_in(&mut fields, built_in),
        }
        for SecretField { place, text } in &self.secrets {
            fields.add("secret", place.to_string());
            text.names().for_each(|name| fields.add("name", name.as_str()));
        }
        LaunchHash(fields.finish())
    }
}

impl WrittenServer {
    /// A hash of the launch as it is written: what runs or is connected to, and what it is given. Values of variables and secrets that
    /// it refers to are not part of it, nor are settings, so that it changes only when someone changes the entry.
    pub fn written_launch_hash(&self) -> String {
        let mut fields = HashFields::new("toolbay written launch 1");
        let mut add = |label: &str, text: Option<&Template>| {
            if let Some(text) = text {
                fields.add(label, text.native());
            }
        };
        add("command", self.command.as_ref());
        self.args.iter().for_each(|argument| add("argument", Some(argument)));
        add("url", self.url.as_ref());
        add("env_file", self.env_file.as_ref());
        add("cwd", self.cwd.as_ref());
        for (label, pairs) in [("variable", &self.env), ("header", &self.headers)] {
            for (name, value) in pairs {
                fields.add(label, name);
                fields.add("value", value.native());
            }
        }
        fields.add("transport", self.transport.name());
        hex(&fields.finish())
    }
}

fn add_command(fields: &mut HashFields, command: &Command) {
    fields.add("command", &command.command);
    for argument in &command.args {
        fields.add("argument", argument);
    }
    for (name, value) in &command.env {
        fields.add("variable", name);
        fields.add("value", value);
    }
    if let Some(cwd) = &command.cwd {
        fields.add("cwd", cwd.as_os_str().as_bytes());
    }
}

fn add_built_in(fields: &mut HashFields, built_in: &BuiltIn) {
    // Settings are texts, numbers and paths in UTF-8, in the order of their keys.
    let settings = serde_json::to_value(built_in).unwrap_or_default();
    fields.add("built-in", settings.to_string());
}

fn add_inherited(fields: &mut HashFields, inherited: &InheritEnv) {
    match inherited {
        InheritEnv::Usual => fields.add("inherit", "usual"),
        InheritEnv::All => fields.add("inherit", "all"),
        InheritEnv::None => fields.add("inherit", "none"),
        InheritEnv::Also(patterns) => {
            // A set, however it is written.
            let mut patterns: Vec<&String> = patterns.iter().collect();
            patterns.sort();
            patterns.dedup();
            fields.add("inherit", "also");
            patterns.into_iter().for_each(|pattern| fields.add("pattern", pattern));
        }
    }
}

fn add_remote(fields: &mut HashFields, remote: &Remote) {
    fields.add("url", remote.url.to_string());
    fields.add("transport", remote.transport.name());
    let mut names: Vec<_> = remote.headers.keys().collect();
    names.sort_by_key(|name| name.as_str());
    for name in names {
        fields.add("header", name.as_str());
        for value in remote.headers.get_all(name) {
            fields.add("value", value.as_bytes());
        }
    }
    if remote.oauth.is_configured {
        // Passwords are part of it, and cannot be recovered from a hash.
        let OAuthConfig { client_id, issuer, scopes, client_secret, private_key_file, .. } = &*remote.oauth;
        let secret = client_secret.as_ref().map(|secret| secret.expose().to_owned());
        let key = private_key_file.as_ref().map(|file| file.display().to_string());
        for (label, value) in [
            ("client id", client_id),
            ("issuer", issuer),
            ("scopes", scopes),
            ("client secret", &secret),
            ("private key", &key),
        ] {
            fields.add(label, value.as_deref().unwrap_or_default());
        }
    }
    for certificate in &remote.ca {
        fields.add("certificate", certificate);
    }
}

/// Invariant: label and value each carry their length, so fields cannot run into each other: `["ab", "c"]` and
/// `["a", "bc"]` differ.
pub(crate) struct HashFields(Sha256);

impl HashFields {
    /// `purpose` keeps hashes of different kinds apart; change its number when the fields change their meaning.
    pub(crate) fn new(purpose: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.add("purpose", purpose);
        fields
    }

    pub(crate) fn add(&mut self, label: &str, value: impl AsRef<[u8]>) {
        for part in [label.as_bytes(), value.as_ref()] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
