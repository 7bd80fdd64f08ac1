//! A server in the words that all formats share, fit to be shown to anyone.

use serde_json::{Map, Value, json};

use crate::{
    ConfigFile, Standing, Transport, Written, WrittenBuiltIn,
    redact::{self, is_secret_name},
    template::{Style, Template},
};

/// What stands where a secret may be.
pub const REDACTED: &str = "***";

impl ConfigFile {
    /// All servers in normal form.
    pub fn normalised(&self) -> Vec<Value> {
        self.written.iter().map(Written::normalised).collect()
    }
}

impl Written {
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
            "transport": self.spoken(),
            "command": self.command.as_ref().map(Template::shown),
            "args": args(&self.args),
            "env": map(&self.env),
            "url": self.url.as_ref().map(|url| without_query_secrets(&url.shown())),
            "headers": map(&self.headers),
            "enabled": self.standing == Standing::Enabled,
        });
        if let Some(built_in) = &self.built_in {
            for (key, value) in built_in.redacted().entries(|text| Ok(text.shown())).unwrap_or_default() {
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
            args: self.args.iter().zip(args(&self.args)).map(kept).collect(),
            env: map(&self.env),
            headers: map(&self.headers),
            url: self.url.as_ref().map(|url| kept((url, without_query_secrets(&url.shown())))),
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
        let shown: Vec<String> = self.args.iter().map(Template::shown).collect();
        let in_args = args(&self.args) != shown || shown.iter().any(|arg| redact::is_secret("", arg));
        let in_url = self.url.as_ref().is_some_and(|url| without_query_secrets(&url.shown()) != url.shown());
        let in_key = self.built_in.as_ref().is_some_and(WrittenBuiltIn::has_literal_secret);
        let elsewhere = [(in_args, "args"), (in_url, "url"), (in_key, "embeddings.api_key")];
        of_maps.chain(elsewhere.into_iter().filter(|(is, _)| *is).map(|(_, key)| key.to_owned())).collect()
    }

    /// What is spoken with it, or tried first where that is to be found out.
    pub(crate) fn spoken(&self) -> &'static str {
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

/// Arguments, but not those that follow an option which wants a secret.
fn args(args: &[Template]) -> Vec<String> {
    let mut follows_secret = false;
    let shown = args.iter().map(|arg| {
        let text = arg.shown();
        let hide = std::mem::take(&mut follows_secret) && !text.starts_with('-');
        match text.split_once('=') {
            _ if hide => arg.without_secrets().unwrap_or_else(|| REDACTED.to_owned()),
            Some((option, value))
                if option.starts_with('-') && is_secret_name(option) && !value.starts_with("${") =>
            {
                format!("{option}={REDACTED}")
            }
            _ => {
                follows_secret = text.starts_with("--") && !text.contains('=') && is_secret_name(&text);
                text
            }
        }
    });
    shown.collect()
}

fn without_query_secrets(url: &str) -> String {
    let Some((before, query)) = url.split_once('?') else { return url.to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_secret_name(name) && !value.starts_with("${") => {
            format!("{name}={REDACTED}")
        }
        _ => pair.to_owned(),
    });
    format!("{before}?{}", pairs.collect::<Vec<_>>().join("&"))
}
