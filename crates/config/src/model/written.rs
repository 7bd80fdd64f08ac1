//! A server as its file has it, in a form that is independent of the format, with variables unexpanded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value};
use toolbay_protocol::SecretName;

use crate::{
    Location, Permission, ServerConfig, ServerEndpoint, Transport, WrittenBuiltIn,
    redact::is_literal_secret,
    template::{Style, Template},
};

/// A server as written. This form is printed, exported and written to files; it never has the values of variables.
#[derive(Clone, PartialEq, Eq)]
pub struct WrittenServer {
    /// The key of its entry.
    pub name: String,
    /// The location of the entry.
    pub location: Location,
    /// The program, if it is one.
    pub command: Option<Template>,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables of its environment.
    pub env: BTreeMap<String, Template>,
    /// A file with more of that.
    pub env_file: Option<Template>,
    /// Its working directory.
    pub cwd: Option<Template>,
    /// The URL of a remote server.
    pub url: Option<Template>,
    /// The transport.
    pub transport: Transport,
    /// Headers of every request.
    pub headers: BTreeMap<String, Template>,
    /// How it is authorized at: the table `oauth`, with our names of its keys.
    pub oauth: Option<BTreeMap<String, Template>>,
    /// The built-in server, if it is one.
    pub built_in: Option<WrittenBuiltIn>,
    /// Whether it may run.
    pub permission: Permission,
    /// Its settings: the keys of [`ServerOptions`](crate::ServerOptions).
    pub tuning: Map<String, Value>,
    /// Keys that we do not know, by format: they are kept for export.
    pub extra: BTreeMap<String, Map<String, Value>>,
}

impl WrittenServer {
    /// A server with a name only.
    pub(crate) fn named(name: &str, place: Location) -> Self {
        Self {
            name: name.to_owned(),
            location: place,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            env_file: None,
            cwd: None,
            url: None,
            transport: Transport::Auto,
            headers: BTreeMap::new(),
            oauth: None,
            built_in: None,
            permission: Permission::Enabled,
            tuning: Map::new(),
            extra: BTreeMap::new(),
        }
    }
}

impl WrittenServer {
    /// The ids of the inputs that it uses.
    pub fn inputs(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.texts().flat_map(Template::inputs).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The secrets that it refers to.
    pub fn secret_names(&self) -> BTreeSet<&SecretName> {
        self.texts().flat_map(Template::secrets).collect()
    }

    /// Puts secrets in place of literal values that look like secrets, where secrets can be. `name_of` gets what a value is
    /// called, such as the name of a variable, and the value; it returns the name of the secret, or none to leave it.
    pub fn move_secrets(&mut self, mut name_of: impl FnMut(&str, &str) -> Option<SecretName>) {
        let mut replace = |called: &str, text: &mut Template| {
            if let Some((scheme, value)) = text.as_credentials()
                && let Some(name) = name_of(called, value)
            {
                *text = Template::of_secret(scheme, name);
            }
        };
        for (name, text) in self.env.iter_mut().chain(&mut self.headers) {
            if is_literal_secret(name, text) {
                replace(name, text);
            }
        }
        if let Some(built_in) = &mut self.built_in {
            built_in.each_literal_secret(replace);
        }
    }

    /// Replaces inputs, which only VS Code asks for: by secrets where these can be, else by variables of the environment.
    pub(crate) fn replace_inputs(&mut self, defaults: &BTreeMap<String, String>) {
        let may_be_secret = self.env.values_mut().chain(self.headers.values_mut()).chain(&mut self.url);
        may_be_secret.for_each(|text| *text = text.with_secret_inputs(defaults));
        self.texts_mut().for_each(|text| *text = text.with_inputs(defaults));
    }

    /// Whether something in it depends on which folder is the workspace.
    pub fn names_workspace(&self) -> bool {
        self.texts().any(Template::names_workspace)
    }

    /// All its texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Template> {
        let single = [&self.command, &self.url, &self.env_file, &self.cwd].into_iter().flatten();
        let several = self.args.iter().chain(self.env.values()).chain(self.headers.values());
        let oauth = self.oauth.iter().flat_map(BTreeMap::values);
        single.chain(several).chain(oauth).chain(self.built_in.iter().flat_map(WrittenBuiltIn::texts))
    }

    /// All its texts, to be changed.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let single = [&mut self.command, &mut self.url, &mut self.env_file, &mut self.cwd];
        let several = self.args.iter_mut().chain(self.env.values_mut()).chain(self.headers.values_mut());
        let oauth = self.oauth.iter_mut().flat_map(BTreeMap::values_mut);
        let built_in = self.built_in.iter_mut().flat_map(WrittenBuiltIn::texts_mut);
        single.into_iter().flatten().chain(several).chain(oauth).chain(built_in)
    }

    /// Whether both have the same endpoint and the same permission, each in its own format. How it is
    /// treated may differ.
    pub fn is_same_server(&self, other: &Self) -> bool {
        let text = |text: &Option<Template>| text.as_ref().map(Template::native);
        let texts = |texts: &BTreeMap<String, Template>| -> Vec<(String, String)> {
            texts.iter().map(|(name, text)| (name.clone(), text.native())).collect()
        };
        let args = |args: &[Template]| -> Vec<String> { args.iter().map(Template::native).collect() };
        let built_in =
            |it: &Option<WrittenBuiltIn>| it.as_ref().map(|it| it.entries(|text| Ok(text.native())));
        text(&self.command) == text(&other.command)
            && args(&self.args) == args(&other.args)
            && texts(&self.env) == texts(&other.env)
            && text(&self.env_file) == text(&other.env_file)
            && text(&self.cwd) == text(&other.cwd)
            && text(&self.url) == text(&other.url)
            && self.protocol_name() == other.protocol_name()
            && texts(&self.headers) == texts(&other.headers)
            && built_in(&self.built_in) == built_in(&other.built_in)
            && self.permission == other.permission
    }
}

impl ServerConfig {
    /// This server as a file would have it: for servers of extensions, which no file has.
    pub fn as_written(&self) -> WrittenServer {
        let text = |text: &str| Template::parse(text, Style::Plain);
        let mut written = WrittenServer {
            permission: self.permission,
            ..WrittenServer::named(self.name.as_str(), Location::START)
        };
        match &self.endpoint {
            ServerEndpoint::Command(command) => {
                written.command = Some(text(&command.command));
                written.args = command.args.iter().map(|arg| text(arg)).collect();
                written.env = command.env.iter().map(|(name, value)| (name.clone(), text(value))).collect();
                written.cwd = command.cwd.as_deref().map(Template::of_path);
            }
            ServerEndpoint::Url(remote) => {
                let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
                    (name.to_string(), text(&String::from_utf8_lossy(value.as_bytes())))
                };
                written.url = Some(text(&remote.url.to_string()));
                written.transport = remote.transport;
                written.headers = remote.headers.iter().map(header).collect();
            }
            ServerEndpoint::BuiltIn(built_in) => written.built_in = Some(WrittenBuiltIn::of(built_in)),
        }
        written
    }
}

/// Literals may be secrets.
impl fmt::Debug for WrittenServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written")
            .field("name", &self.name)
            .field("place", &self.location)
            .finish_non_exhaustive()
    }
}
