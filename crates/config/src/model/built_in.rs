//! Servers that are a part of Toolbay itself: `"builtin": "codebase"`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use http::{HeaderValue, Uri};
use serde_json::{Map, Value, json};

use crate::{
    REDACTED, Variables,
    format::fields::EntryFields,
    problem::nearest,
    template::{Style, Template, variables::Missing},
};

/// The names of the built-in servers.
const KNOWN: [&str; 1] = ["codebase"];

/// The keys of `embeddings`.
const EMBEDDINGS: [&str; 3] = ["url", "model", "api_key"];

/// A server that is a part of Toolbay itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuiltIn {
    /// Search and reading in a tree of files.
    Codebase(CodebaseSettings),
}

/// A tree of files to search in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodebaseSettings {
    /// The folder; nothing outside of it is ever shown.
    pub root: PathBuf,
    /// The embedding endpoint to use instead of the built-in model.
    pub embeddings: Option<Embeddings>,
    /// Whether failures of tools are JSON-RPC errors, as in the document that the server follows, and not results that a
    /// model can correct itself by.
    pub s3_errors: bool,
    /// Whether files whose names indicate secrets are shown.
    pub secrets: bool,
}

/// An OpenAI-compatible endpoint for embeddings.
#[derive(Clone, PartialEq, Eq)]
pub struct Embeddings {
    /// The URL; parts of the code are sent there.
    pub url: Uri,
    /// The name of the model in requests.
    pub model: String,
    /// A secret to show there.
    pub api_key: Option<String>,
}

impl std::fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.api_key.as_ref().map(|_| REDACTED);
        f.debug_struct("Embeddings")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("api_key", &key)
            .finish()
    }
}

/// A built-in server as its file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBuiltIn {
    /// The name of the built-in server.
    pub name: String,
    /// Its folder, if it is given.
    pub root: Option<Template>,
    /// `url`, `model` and `api_key` of who embeds texts.
    pub embeddings: BTreeMap<String, Template>,
    /// Whether failures are errors.
    pub s3_errors: bool,
    /// Whether secrets are shown.
    pub secrets: bool,
}

/// Takes the keys of a built-in server from an entry, if it is one. The error is a message for the user.
pub(crate) fn read(fields: &mut EntryFields<'_>, style: Style) -> Result<Option<WrittenBuiltIn>, String> {
    let Some(name) = fields.text(&["builtin"])? else { return Ok(None) };
    if !KNOWN.contains(&name) {
        let meant = nearest(name, &KNOWN).map(|meant| format!("; did you mean `{meant}`?"));
        return Err(format!(
            "unknown built-in server `{name}`{}",
            meant.unwrap_or_else(|| format!("; available: {}", KNOWN.join(", ")))
        ));
    }
    let text = |text: &str| Template::parse(text, style);
    let embeddings = fields.map(&["embeddings"])?;
    for (key, needed) in [("url", true), ("model", true), ("api_key", false)] {
        if needed && !embeddings.is_empty() && !embeddings.contains_key(key) {
            return Err(format!("`embeddings.{key}` is missing"));
        }
    }
    if let Some(key) = embeddings.keys().find(|key| !EMBEDDINGS.contains(&key.as_str())) {
        return Err(format!("`embeddings.{key}` is unknown; expected one of: {}", EMBEDDINGS.join(", ")));
    }
    Ok(Some(WrittenBuiltIn {
        name: name.to_owned(),
        root: fields.text(&["root"])?.map(text),
        embeddings: embeddings.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        s3_errors: s3_errors(fields)?,
        secrets: fields.flag(&["secrets"])? == Some(true),
    }))
}

fn s3_errors(fields: &mut EntryFields<'_>) -> Result<bool, String> {
    let Some((_, node)) = fields.take(&["compat"]) else { return Ok(false) };
    let mut compat = EntryFields::of(node).map_err(|_| "`compat` must be a table".to_owned())?;
    let flag = compat.flag(&["s3_errors"])?;
    match compat.rest().keys().next() {
        Some(key) => Err(format!("`compat.{key}` is unknown; expected: s3_errors")),
        None => Ok(flag == Some(true)),
    }
}

/// Checks a built-in server. A relative folder starts at `base`.
pub(crate) fn check(
    written: &WrittenBuiltIn,
    base: &Path,
    variables: &Variables,
    missing: &mut Vec<Missing>,
) -> Result<BuiltIn, String> {
    let root = written.root.as_ref().map(|root| root.expand(variables, missing)).unwrap_or_default();
    let root = match (root.strip_prefix('~'), &variables.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => base.join(&root),
    };
    if root.as_os_str().as_encoded_bytes().contains(&0) {
        return Err("`root` must not contain NUL".to_owned());
    }
    let url = written.embeddings.get("url").map(|url| url.expand_url(variables, missing));
    let mut text = |key: &str| Some(written.embeddings.get(key)?.expand(variables, missing));
    let embeddings = match (url, text("model")) {
        (Some(url), Some(model)) => {
            let api_key = text("api_key").filter(|key| !key.is_empty());
            if api_key.as_ref().is_some_and(|key| HeaderValue::from_str(key).is_err()) {
                return Err(
                    "`embeddings.api_key` contains characters that are not allowed in a header".to_owned()
                );
            }
            Some(Embeddings { url: endpoint(&url)?, model, api_key })
        }
        _ => None,
    };
    let WrittenBuiltIn { s3_errors, secrets, .. } = *written;
    Ok(BuiltIn::Codebase(CodebaseSettings { root, embeddings, s3_errors, secrets }))
}

fn endpoint(url: &str) -> Result<Uri, String> {
    let uri: Uri =
        url.trim().parse().map_err(|error| format!("`embeddings.url` is not a valid URL: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(host)) if !host.as_str().contains('@') => Ok(uri),
        (Some("http" | "https"), Some(_)) => {
            Err("`embeddings.url` contains credentials; put them into `embeddings.api_key` instead"
                .to_owned())
        }
        _ => Err("`embeddings.url` must begin with `http://` or `https://`".to_owned()),
    }
}

impl WrittenBuiltIn {
    /// A built-in server as a file would write it.
    pub(crate) fn of(built_in: &BuiltIn) -> Self {
        let BuiltIn::Codebase(codebase) = built_in;
        let embeddings = codebase.embeddings.iter().flat_map(|it| {
            let url = Some(it.url.to_string());
            let all = [("url", url), ("model", Some(it.model.clone())), ("api_key", it.api_key.clone())];
            all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Template::literal(&value?))))
        });
        Self {
            name: KNOWN[0].to_owned(),
            root: Some(Template::of_path(&codebase.root)),
            embeddings: embeddings.collect(),
            s3_errors: codebase.s3_errors,
            secrets: codebase.secrets,
        }
    }

    /// Its own keys of an entry, with texts written by `write`.
    pub(crate) fn entries(
        &self,
        mut write: impl FnMut(&Template) -> Result<String, String>,
    ) -> Result<Vec<(String, Value)>, String> {
        let mut entries = vec![("builtin".to_owned(), self.name.as_str().into())];
        if let Some(root) = &self.root {
            entries.push(("root".to_owned(), write(root)?.into()));
        }
        if !self.embeddings.is_empty() {
            let mut embeddings_entry = Map::new();
            for key in EMBEDDINGS {
                if let Some(text) = self.embeddings.get(key) {
                    embeddings_entry.insert(key.to_owned(), write(text)?.into());
                }
            }
            entries.push(("embeddings".to_owned(), embeddings_entry.into()));
        }
        if self.s3_errors {
            entries.push(("compat".to_owned(), json!({ "s3_errors": true })));
        }
        if self.secrets {
            entries.push(("secrets".to_owned(), true.into()));
        }
        Ok(entries)
    }

    /// The same without secrets.
    pub(crate) fn redacted(&self) -> Self {
        let mut shown = self.clone();
        if let Some(key) = shown.embeddings.get_mut("api_key")
            && key.without_secrets().is_none()
        {
            *key = Template::parse(REDACTED, Style::Native);
        }
        shown
    }

    /// Whether the file itself contains a secret.
    pub(crate) fn has_literal_secret(&self) -> bool {
        self.embeddings.get("api_key").is_some_and(|key| key.without_secrets().is_none())
    }

    /// All its texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Template> {
        self.root.iter().chain(self.embeddings.values())
    }

    /// All its texts, to be changed.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        self.root.iter_mut().chain(self.embeddings.values_mut())
    }
}
