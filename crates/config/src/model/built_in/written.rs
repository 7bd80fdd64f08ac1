//! Entries of built-in servers as files write them.

use std::{collections::BTreeMap, path::Path};

use http::{HeaderValue, Uri};
use serde_json::{Map, Value};

use super::{
    BuiltIn,
    keys::{BUILT_IN, BuiltInKeys, Key, KeyKind, all_keys, keys_of},
};
use crate::{
    REDACTED, ReadFiles, SecretPlace,
    format::fields::EntryFields,
    load::expansion::Expansion,
    model::duration,
    problem::nearest,
    template::{Style, Template},
};

/// A built-in server as its file writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenBuiltIn {
    name: &'static str,
    values: Values,
}

/// What is behind keys. Invariant: each key is in the table of its server, and its value is of the kind that is there.
type Values = BTreeMap<&'static str, WrittenValue>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum WrittenValue {
    Text(Template),
    Texts(Vec<Template>),
    Flag(bool),
    Count(u64),
    Table(Values),
}

/// Takes the keys of a built-in server from an entry, if it is one. The error is a message for the user.
pub(crate) fn read(fields: &mut EntryFields<'_>, style: Style) -> Result<Option<WrittenBuiltIn>, String> {
    let Some(name) = fields.text(&["builtin"])? else { return Ok(None) };
    let Some(server) = keys_of(name) else {
        let known: Vec<&str> = BUILT_IN.iter().map(|it| it.name).collect();
        return Err(match nearest(name, &known) {
            Some(meant) => format!("unknown built-in server `{name}`; did you mean `{meant}`?"),
            None => format!("unknown built-in server `{name}`; available: {}", known.join(", ")),
        });
    };
    let values = read_values(server.keys, fields, style, "")?;
    Ok(Some(WrittenBuiltIn { name: server.name, values }))
}

fn read_values(
    keys: &'static [Key],
    fields: &mut EntryFields<'_>,
    style: Style,
    table: &str,
) -> Result<Values, String> {
    let mut values = Values::new();
    for key in keys {
        let full_name = format!("{table}{}", key.name);
        match read_value(key, fields, style).map_err(|why| why.replacen(key.name, &full_name, 1))? {
            Some(value) => drop(values.insert(key.name, value)),
            None if key.is_required => return Err(format!("`{full_name}` is missing")),
            None => {}
        }
    }
    Ok(values)
}

fn read_value(key: &Key, fields: &mut EntryFields<'_>, style: Style) -> Result<Option<WrittenValue>, String> {
    let text = |text: &str| Template::parse(text, style);
    let names = &[key.name];
    Ok(match key.kind {
        KeyKind::Text | KeyKind::Secret | KeyKind::Url | KeyKind::Path | KeyKind::Directory => {
            fields.text(names)?.map(|it| WrittenValue::Text(text(it)))
        }
        KeyKind::Choice(choices) => match fields.text(names)? {
            Some(choice) if !choices.contains(&choice) => {
                return Err(unknown_choice(key.name, choice, choices));
            }
            choice => choice.map(|it| WrittenValue::Text(Template::literal(it))),
        },
        KeyKind::Directories | KeyKind::Paths | KeyKind::Texts => {
            fields.texts(names)?.map(|all| WrittenValue::Texts(all.iter().map(|it| text(it)).collect()))
        }
        KeyKind::Flag(_) => fields.flag(names)?.map(WrittenValue::Flag),
        KeyKind::Duration => {
            let Some((_, node)) = fields.take(names) else { return Ok(None) };
            let time =
                duration::deserialize(node.to_json()).map_err(|why| format!("`{}`: {why}", key.name))?;
            time.map(|time| WrittenValue::Text(Template::literal(&duration::text(time))))
        }
        KeyKind::Count => fields.count(names)?.map(WrittenValue::Count),
        KeyKind::Table(keys) => {
            let Some((_, node)) = fields.take(names) else { return Ok(None) };
            let mut inner = EntryFields::of(node).map_err(|_| format!("`{}` must be a table", key.name))?;
            let values = read_values(keys, &mut inner, style, &format!("{}.", key.name))?;
            if let Some(unknown) = inner.rest().keys().next() {
                let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let known = known.join(", ");
                return Err(format!("`{}.{unknown}` is unknown; expected one of: {known}", key.name));
            }
            Some(WrittenValue::Table(values))
        }
    })
}

fn unknown_choice(key: &str, choice: &str, choices: &[&str]) -> String {
    match nearest(choice, choices) {
        Some(meant) => format!("`{key}` cannot be `{choice}`; did you mean `{meant}`?"),
        None => format!("`{key}` cannot be `{choice}`; expected one of: {}", choices.join(", ")),
    }
}

/// Checks a built-in server. Relative paths start at `base`.
pub(crate) fn check(
    written: &WrittenBuiltIn,
    base: &Path,
    expansion: &mut Expansion<'_>,
) -> Result<BuiltIn, String> {
    let mut settings = check_values(written.keys(), &written.values, "", base, expansion)?;
    settings.insert("builtin".to_owned(), written.name.into());
    serde_json::from_value(settings.into()).map_err(|error| error.to_string())
}

fn check_values(
    keys: &[Key],
    values: &Values,
    table: &str,
    base: &Path,
    expansion: &mut Expansion<'_>,
) -> Result<Map<String, Value>, String> {
    let mut checked = Map::new();
    for key in keys {
        let pointer = format!("{table}/{}", key.name);
        let within = |why: String| format!("`{}` {why}", key.name);
        let value = match (values.get(key.name), key.kind) {
            (None, KeyKind::Directory) => path(base.to_owned()).map_err(within)?.into(),
            (None, KeyKind::Directories) => vec![path(base.to_owned()).map_err(within)?].into(),
            (None, _) => continue,
            (Some(WrittenValue::Text(text)), _) => match check_text(text, key, &pointer, base, expansion)? {
                Some(text) => text.into(),
                None => continue,
            },
            (Some(WrittenValue::Texts(texts)), KeyKind::Directories) if texts.is_empty() => {
                return Err(within("must name a directory".to_owned()));
            }
            (Some(WrittenValue::Texts(texts)), _) => {
                let texts = texts.iter().map(|text| check_text(text, key, &pointer, base, expansion));
                let texts: Vec<Option<String>> = texts.collect::<Result<_, _>>()?;
                texts.into_iter().flatten().collect::<Vec<String>>().into()
            }
            (Some(WrittenValue::Flag(flag)), _) => (*flag).into(),
            (Some(WrittenValue::Count(count)), _) => (*count).into(),
            (Some(WrittenValue::Table(values)), KeyKind::Table(keys)) => {
                let within = |why: String| why.replacen('`', &format!("`{}.", key.name), 1);
                check_values(keys, values, &pointer, base, expansion).map_err(within)?.into()
            }
            (Some(WrittenValue::Table(_)), _) => continue,
        };
        checked.insert(key.name.to_owned(), value);
    }
    Ok(checked)
}

/// The value of a text, or nothing for a secret whose variable is not set.
fn check_text(
    text: &Template,
    key: &Key,
    pointer: &str,
    base: &Path,
    expansion: &mut Expansion<'_>,
) -> Result<Option<String>, String> {
    let within = |why: String| format!("`{}` {why}", key.name);
    if matches!(key.kind, KeyKind::Secret) {
        let already_missing = expansion.missing.len();
        let secret = expansion.secret(SecretPlace::Setting(pointer.to_owned()), text);
        let is_set = !secret.is_empty() && expansion.missing.len() == already_missing;
        return match HeaderValue::from_str(&secret) {
            Ok(_) => Ok(Some(secret).filter(|_| is_set)),
            Err(_) => Err(within("contains characters that are not allowed in a header".to_owned())),
        };
    }
    let is_unread = expansion.variables.files == ReadFiles::Never && text.files().next().is_some();
    let written = expansion.plain(key.name, text)?;
    match key.kind {
        KeyKind::Url if is_unread => Ok(Some("http://unread.invalid/".to_owned())),
        KeyKind::Url => check_url(&written).map_err(within).map(Some),
        KeyKind::Path | KeyKind::Paths | KeyKind::Directory | KeyKind::Directories => {
            path(match (written.strip_prefix('~'), &expansion.variables.home) {
                (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                    home.join(rest.trim_start_matches('/'))
                }
                _ => base.join(&written),
            })
            .map_err(within)
            .map(Some)
        }
        _ => Ok(Some(written)),
    }
}

fn path(path: std::path::PathBuf) -> Result<String, String> {
    match path.into_os_string().into_string() {
        Ok(path) if path.contains('\0') => Err("must not contain NUL".to_owned()),
        Ok(path) => Ok(path),
        Err(_) => Err("must be UTF-8".to_owned()),
    }
}

fn check_url(url: &str) -> Result<String, String> {
    let uri: Uri = url.trim().parse().map_err(|error| format!("is not a valid URL: {error}"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(host)) if !host.as_str().contains('@') => Ok(uri.to_string()),
        (Some("http" | "https"), Some(_)) => {
            Err("contains credentials, which are not allowed in it".to_owned())
        }
        _ => Err("must begin with `http://` or `https://`".to_owned()),
    }
}

/// Explains a key that the server of an entry does not have, if it was meant for it: it is similar to one, or another server has
/// it. Nothing for keys that other programs use.
pub(crate) fn unknown_key(built_in: Option<&WrittenBuiltIn>, key: &str) -> Option<String> {
    let is_of_another = all_keys().contains(&key);
    let Some(built_in) = built_in else {
        return is_of_another.then(|| format!("`{key}` is for servers with `builtin`"));
    };
    let own = built_in.key_names();
    let name = built_in.name;
    match nearest(key, &own) {
        Some(meant) => Some(format!("`{key}` is unknown; did you mean `{meant}`?")),
        None if is_of_another && own.is_empty() => {
            Some(format!("the built-in server `{name}` has no key `{key}`"))
        }
        None if is_of_another => {
            Some(format!("the built-in server `{name}` has no key `{key}`; it has: {}", own.join(", ")))
        }
        None => None,
    }
}

impl WrittenBuiltIn {
    /// A built-in server as a file would write it.
    pub(crate) fn of(built_in: &BuiltIn) -> Self {
        let settings = serde_json::to_value(built_in).unwrap_or_default();
        let name = settings["builtin"].as_str().unwrap_or_default();
        let Some(server) = keys_of(name) else { return Self { name: "hub", values: Values::new() } };
        Self { name: server.name, values: values_of(server.keys, &settings) }
    }

    /// The name of the server.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn keys(&self) -> &'static [Key] {
        keys_of(self.name).map_or(&[], |BuiltInKeys { keys, .. }| keys)
    }

    /// The names of the keys that the server has.
    pub(crate) fn key_names(&self) -> Vec<&'static str> {
        self.keys().iter().map(|key| key.name).collect()
    }

    /// Its own keys of an entry, with texts written by `write`.
    pub(crate) fn entries(
        &self,
        mut write: impl FnMut(&Template) -> Result<String, String>,
    ) -> Result<Vec<(String, Value)>, String> {
        let mut entries = vec![("builtin".to_owned(), self.name.into())];
        entries.extend(json_of(self.keys(), &self.values, &mut write)?);
        Ok(entries)
    }

    /// The same without secrets.
    pub(crate) fn redacted(&self) -> Self {
        let mut shown = self.clone();
        each_secret(self.keys(), &mut shown.values, "", &mut |_, secret| {
            *secret = Template::parse(REDACTED, Style::Native);
        });
        shown
    }

    /// Visits the secrets that the file itself contains, each with its key.
    pub(crate) fn each_literal_secret(&mut self, mut visit: impl FnMut(&str, &mut Template)) {
        each_secret(self.keys(), &mut self.values, "", &mut |key, secret| visit(&key, secret));
    }

    /// The keys whose secrets the file itself contains.
    pub(crate) fn literal_secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        each_secret(self.keys(), &mut self.values.clone(), "", &mut |key, _| found.push(key));
        found
    }

    /// The same, with nothing that depends on where the file is: paths start at `folder`, and those that are left out are as
    /// in `checked`.
    pub(crate) fn in_full(&self, checked: &BuiltIn, folder: &Path) -> Self {
        let mut full = self.clone();
        let mut checked = Self::of(checked);
        for key in self.keys() {
            let value = match (full.values.remove(key.name), key.kind) {
                (Some(WrittenValue::Text(text)), KeyKind::Path | KeyKind::Directory) => {
                    Some(WrittenValue::Text(text.below(folder)))
                }
                (Some(WrittenValue::Texts(texts)), KeyKind::Paths | KeyKind::Directories) => {
                    Some(WrittenValue::Texts(texts.into_iter().map(|text| text.below(folder)).collect()))
                }
                (None, KeyKind::Directory | KeyKind::Directories) => checked.values.remove(key.name),
                (value, _) => value,
            };
            if let Some(value) = value {
                full.values.insert(key.name, value);
            }
        }
        full
    }

    /// All its texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Template> {
        let mut texts = Vec::new();
        let mut left: Vec<&WrittenValue> = self.values.values().collect();
        while let Some(value) = left.pop() {
            match value {
                WrittenValue::Text(text) => texts.push(text),
                WrittenValue::Texts(all) => texts.extend(all),
                WrittenValue::Table(values) => left.extend(values.values()),
                WrittenValue::Flag(_) | WrittenValue::Count(_) => {}
            }
        }
        texts.into_iter()
    }

    /// All its texts, to be changed.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let mut texts = Vec::new();
        let mut left: Vec<&mut WrittenValue> = self.values.values_mut().collect();
        while let Some(value) = left.pop() {
            match value {
                WrittenValue::Text(text) => texts.push(text),
                WrittenValue::Texts(all) => texts.extend(all),
                WrittenValue::Table(values) => left.extend(values.values_mut()),
                WrittenValue::Flag(_) | WrittenValue::Count(_) => {}
            }
        }
        texts.into_iter()
    }
}

/// Values as a file would write them; what goes without saying is left out.
fn values_of(keys: &'static [Key], settings: &Value) -> Values {
    let mut values = Values::new();
    for key in keys {
        let value = match (&settings[key.name], key.kind) {
            (Value::String(choice), KeyKind::Choice(choices))
                if choices.first() == Some(&choice.as_str()) =>
            {
                None
            }
            (Value::String(text), _) => Some(WrittenValue::Text(Template::literal(text))),
            (Value::Array(texts), _) => {
                let texts = texts.iter().filter_map(Value::as_str).map(Template::literal).collect();
                Some(WrittenValue::Texts(texts)).filter(|all| *all != WrittenValue::Texts(Vec::new()))
            }
            (Value::Bool(flag), KeyKind::Flag(default)) if *flag == default => None,
            (Value::Bool(flag), _) => Some(WrittenValue::Flag(*flag)),
            (Value::Number(count), _) => count.as_u64().map(WrittenValue::Count),
            (table @ Value::Object(_), KeyKind::Table(keys)) => {
                Some(WrittenValue::Table(values_of(keys, table)))
                    .filter(|it| *it != WrittenValue::Table(Values::new()))
            }
            _ => None,
        };
        if let Some(value) = value {
            values.insert(key.name, value);
        }
    }
    values
}

fn json_of(
    keys: &[Key],
    values: &Values,
    write: &mut impl FnMut(&Template) -> Result<String, String>,
) -> Result<Vec<(String, Value)>, String> {
    let mut entries = Vec::new();
    for key in keys {
        let value: Value = match (values.get(key.name), key.kind) {
            (Some(WrittenValue::Text(text)), _) => write(text)?.into(),
            (Some(WrittenValue::Texts(texts)), _) => {
                texts.iter().map(&mut *write).collect::<Result<Vec<String>, String>>()?.into()
            }
            (Some(WrittenValue::Flag(flag)), _) => (*flag).into(),
            (Some(WrittenValue::Count(count)), _) => (*count).into(),
            (Some(WrittenValue::Table(values)), KeyKind::Table(keys)) => {
                Map::from_iter(json_of(keys, values, write)?).into()
            }
            _ => continue,
        };
        entries.push((key.name.to_owned(), value));
    }
    Ok(entries)
}

/// Visits the secrets that are literally there, each with its full key.
fn each_secret(keys: &[Key], values: &mut Values, table: &str, visit: &mut dyn FnMut(String, &mut Template)) {
    for key in keys {
        match (values.get_mut(key.name), key.kind) {
            (Some(WrittenValue::Text(secret)), KeyKind::Secret) if secret.without_secrets().is_none() => {
                visit(format!("{table}{}", key.name), secret);
            }
            (Some(WrittenValue::Table(values)), KeyKind::Table(keys)) => {
                each_secret(keys, values, &format!("{}.", key.name), visit);
            }
            _ => {}
        }
    }
}
