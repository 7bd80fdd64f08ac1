//! A server in the words that all formats share, fit to be shown to anyone.

use serde_json::{Map, Value, json};

use crate::{
    ConfigFile, Permission, Transport, WrittenBuiltIn, WrittenServer, redact,
    template::{Style, Template},
};

/// What stands where a secret may be.
pub const REDACTED: &str = "***";

impl ConfigFile {
    /// All servers in normal form.
    pub fn normalised(&self) -> Vec<Value> {
        self.written.iter().map(WrittenServer::normalised).collect()
    }
}

impl WrittenServer {
    /// The server as `name`, `transport`, `command`, `args`, `env`, `url`, `headers` and `enabled`, whatever its format.
    ///
    /// Variables are shown by name, never by value. Values in `env` and `headers` are shown if they are nothing but
    /// variables, and as `***` otherwise.
    pub fn normalised(&self) -> Value {
        let map = |texts: &std::collections::BTreeMap<String, Template>| -> Map<String, Value> {
            let shown = |text: &Template| text.without_secrets().unwrap_or_else(|| REDACTED.to_owned());
            texts.iter().map(|(name, text)| (name.clone(), shown(text).into())).collect()
        };
        let mut shown = json!({
            "name": self.name,
            "transport": self.protocol_name(),
            "command": self.command.as_ref().map(Template::shown),
            "args": redact::arguments(&self.args),
            "env": map(&self.env),
            "url": self.url.as_ref().map(redact::text),
            "headers": map(&self.headers),
            "enabled": self.permission == Permission::Enabled,
        });
        if let Some(built_in) = &self.built_in {
            for (key, value) in built_in.redacted().entries(|text| Ok(redact::text(text))).unwrap_or_default()
            {
                shown[key] = value;
            }
        }
        shown
    }

    /// The same server with `***` for whatever [`normalised`](Self::normalised) does not show, to be written where people
    /// see it.
    pub fn redacted(&self) -> Self {
        let native = |text: &str| Template::parse(text, Style::Native);
        let value = |text: &Template| match text.without_secrets() {
            Some(_) => text.clone(),
            None => native(REDACTED),
        };
        let map = |texts: &std::collections::BTreeMap<String, Template>| {
            texts.iter().map(|(name, text)| (name.clone(), value(text))).collect()
        };
        let kept = |(text, shown): (&Template, String)| match text.shown() == shown {
            true => text.clone(),
            false => native(&shown),
        };
        Self {
            args: self.args.iter().zip(redact::arguments(&self.args)).map(kept).collect(),
            env: map(&self.env),
            headers: map(&self.headers),
            url: self.url.as_ref().map(|url| kept((url, redact::text(url)))),
            built_in: self.built_in.as_ref().map(WrittenBuiltIn::redacted),
            extra: std::collections::BTreeMap::new(),
            ..self.clone()
        }
    }

    /// What seems to be a secret that stands in the file itself, where a variable could stand: the names of variables
    /// and headers, and `args` or `url`.
    pub fn literal_secrets(&self) -> Vec<String> {
        let is_literal = |(name, text): &(&String, &Template)| {
            text.without_secrets().is_none() && redact::is_secret(name, &text.shown())
        };
        let of_maps = self.env.iter().chain(&self.headers).filter(is_literal).map(|(name, _)| name.clone());
        let in_args = redact::are_secret(&self.args);
        let in_url = self.url.as_ref().is_some_and(redact::is_secret_url);
        let in_key = self.built_in.as_ref().is_some_and(WrittenBuiltIn::has_literal_secret);
        let elsewhere = [(in_args, "args"), (in_url, "url"), (in_key, "embeddings.api_key")];
        of_maps.chain(elsewhere.into_iter().filter(|(is, _)| *is).map(|(_, key)| key.to_owned())).collect()
    }

    /// What is spoken with it, or tried first where that is to be found out.
    pub(crate) fn protocol_name(&self) -> &'static str {
        if self.built_in.is_some() {
            return "builtin";
        }
        let Some(url) = &self.url else { return "stdio" };
        let url = url.shown();
        let path = url.split(['?', '#']).next().unwrap_or_default();
        match self.transport {
            Transport::Auto if url.starts_with("ws:") || url.starts_with("wss:") => "ws",
            Transport::Auto if path.trim_end_matches('/').ends_with("/sse") => "sse",
            Transport::Auto => "http",
            said => said.name(),
        }
    }
}
