//! Changing a file of servers: comments, order and every other byte stay.

mod export;
mod json;
mod locations;
mod lock;
mod toml;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use crate::{
    Format, Location, Syntax, WrittenServer,
    files::small::read_small_text,
    format::{
        detect::{DetectedEntry, detect},
        entry::{self, EntryResult},
    },
    load::MARK,
    problem::nearest,
    syntax,
};
use export::{Exported, Pairs, switch};
pub use locations::{Folders, client_files, client_paths};

/// A change to a file.
#[derive(Debug, Clone, Copy)]
pub enum Edit<'a> {
    /// A server that is not there yet.
    Add(&'a WrittenServer),
    /// A server that may be there already.
    Put(&'a WrittenServer),
    /// A server that shall go.
    Remove(&'a str),
    /// A server that may run from now on.
    Enable(&'a str),
    /// A server that may not.
    Disable(&'a str),
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The text that the file has now.
    pub text: String,
    /// Settings that the format does not support, which are not in the file.
    pub lost: Vec<String>,
    /// The file as it was before; none if it is new, or nothing had to be changed.
    pub backup: Option<PathBuf>,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It cannot be read or written.
    #[error("cannot change {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// It has syntax errors.
    #[error("{}:{place}: {message}; nothing was changed", path.display())]
    Syntax { path: PathBuf, place: Location, message: String },
    /// A server of that name is there.
    #[error("server `{server}` already exists in {}; remove it first, or choose another name", path.display())]
    Exists { path: PathBuf, server: String },
    /// No server of that name is there.
    #[error("no server named `{server}` in {}{}", path.display(), hint(similar.as_deref()))]
    Unknown { path: PathBuf, server: String, similar: Option<String> },
    /// The format does not support it.
    #[error("cannot write server `{server}` to {}: {message}", path.display())]
    Unsupported { path: PathBuf, server: String, message: String },
    /// The file has a shape that we read and do not write.
    #[error("cannot change {}: {message}", path.display())]
    Shape { path: PathBuf, message: String },
}

fn hint(similar: Option<&str>) -> String {
    similar.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Changes a file, or creates it. Concurrent changes of several processes do not overwrite each other, and readers see the old or the
/// new file, never a part.
pub fn edit(path: &Path, format: Option<Format>, edits: &[Edit<'_>]) -> Result<Edited, EditError> {
    let io = |source| EditError::Io { path: path.to_owned(), source };
    let file = lock::Locked::open(path).map_err(io)?;
    let before = file.read().map_err(io)?;
    let edited = edit_text(before.as_deref().unwrap_or_default(), path, format, edits)?;
    let backup = match before.as_deref() == Some(edited.text.as_str()) {
        true => None,
        false => file.write(&edited.text).map_err(io)?,
    };
    Ok(Edited { backup, ..edited })
}

/// The result of [`edit`] without writing it.
pub fn preview(path: &Path, format: Option<Format>, edits: &[Edit<'_>]) -> Result<Edited, EditError> {
    let text = match read_small_text(path, lock::MAX_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(EditError::Io { path: path.to_owned(), source }),
    };
    edit_text(&text, path, format, edits)
}

/// Applies changes to a text. `format` is that of a file without servers.
pub fn edit_text(
    text: &str,
    path: &Path,
    format: Option<Format>,
    edits: &[Edit<'_>],
) -> Result<Edited, EditError> {
    // The mark that some editors begin a file with is not for parsers.
    let (mark, text) = text.split_at(text.len() - text.trim_start_matches(MARK).len());
    let mut edited = Edited { text: text.to_owned(), lost: Vec::new(), backup: None };
    for edit in edits {
        let file = File::look(&edited.text, path, format)?;
        let (text, mut lost) = file.apply(edit)?;
        edited.text = text;
        edited.lost.append(&mut lost);
    }
    edited.text.insert_str(0, mark);
    Ok(edited)
}

/// A text to be changed, and where its servers are.
struct File<'a> {
    text: &'a str,
    path: &'a Path,
    syntax: Syntax,
    format: Format,
    home: Vec<&'static str>,
    names: Vec<String>,
    /// Keys in entries that mean nothing to us.
    extras: BTreeMap<String, Map<String, Value>>,
}

impl<'a> File<'a> {
    fn look(text: &'a str, path: &'a Path, format: Option<Format>) -> Result<Self, EditError> {
        let fallback = format.or_else(|| locations::by_name(path)).unwrap_or_default();
        let without_servers = |syntax| Self {
            text,
            path,
            syntax,
            format: fallback,
            home: locations::of(fallback, path),
            names: Vec::new(),
            extras: BTreeMap::new(),
        };
        if text.trim().is_empty() {
            return Ok(without_servers(locations::syntax(fallback)));
        }
        let syntax = Syntax::of(text, path);
        let wrong = |(place, message)| EditError::Syntax { path: path.to_owned(), place, message };
        let root = syntax::parse(text, syntax).map_err(wrong)?;
        // Of two equal keys it is undefined which one counts.
        if let Some(key) = root.repeated_key(&|_| false) {
            return Err(wrong((key.at.place(text), key.repeated())));
        }
        let found = detect(&root, syntax, path).ok();
        // The format is that of the given program, at the place where the file has its servers.
        let found =
            found.filter(|found| format.is_none_or(|format| locations::are_alike(format, found.format)));
        let Some(mut found) = found else { return Ok(without_servers(syntax)) };
        if root.at(&found.home).is_some_and(|servers| servers.list().is_some()) {
            let message = "its servers are a list, which cannot be edited".to_owned();
            return Err(EditError::Shape { path: path.to_owned(), message });
        }
        found.entries.retain(|entry| entry.project.is_none());
        let format = format.unwrap_or(found.format);
        let extras =
            found.entries.iter().filter_map(|entry| Some((entry.name.clone(), extra_of(entry, format)?)));
        Ok(Self {
            text,
            path,
            syntax,
            format,
            home: found.home,
            extras: extras.collect(),
            names: found.entries.into_iter().map(|entry| entry.name).collect(),
        })
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<(String, Vec<String>), EditError> {
        match edit {
            Edit::Add(server) if self.names.contains(&server.name) => {
                Err(EditError::Exists { path: self.path.to_owned(), server: server.name.clone() })
            }
            Edit::Add(server) | Edit::Put(server) => {
                let Exported { entry, lost } =
                    export::entry(server, self.format).map_err(|message| EditError::Unsupported {
                        path: self.path.to_owned(),
                        server: server.name.clone(),
                        message,
                    })?;
                Ok((self.write(&server.name, Change::Put(self.with_theirs(&server.name, entry)))?, lost))
            }
            Edit::Remove(name) => Ok((self.change(name, Change::Remove)?, Vec::new())),
            Edit::Enable(name) => {
                Ok((self.change(name, Change::Unset(&["disabled", "enabled"]))?, Vec::new()))
            }
            Edit::Disable(name) => {
                let (key, value) = switch(self.format).unwrap_or(("disabled", true));
                Ok((self.change(name, Change::Set(key, value.into()))?, Vec::new()))
            }
        }
    }

    /// Adds the keys that the program has put into the entry, such as permissions for tools.
    fn with_theirs(&self, name: &str, mut entry: Pairs) -> Pairs {
        for (key, value) in self.extras.get(name).into_iter().flatten() {
            if !entry.iter().any(|(it, _)| it == key) {
                entry.push((key.clone(), value.clone()));
            }
        }
        entry
    }

    fn change(&self, name: &str, change: Change<'_>) -> Result<String, EditError> {
        if !self.names.iter().any(|it| it == name) {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let similar = nearest(name, &names).map(str::to_owned);
            return Err(EditError::Unknown { path: self.path.to_owned(), server: name.to_owned(), similar });
        }
        self.write(name, change)
    }

    fn write(&self, name: &str, change: Change<'_>) -> Result<String, EditError> {
        let written = match self.syntax {
            Syntax::Json => json::write(self.text, &self.home, name, &change),
            Syntax::Toml => toml::write(self.text, &self.home, name, &change),
            Syntax::Yaml => Err("YAML files are read-only".to_owned()),
        };
        written.map_err(|message| EditError::Shape { path: self.path.to_owned(), message })
    }
}

fn extra_of(entry: &DetectedEntry<'_>, format: Format) -> Option<Map<String, Value>> {
    if format == Format::Toolbay {
        return None;
    }
    match entry::read(&entry.name, Location::START, entry.node, format, &mut Vec::new()) {
        Ok(EntryResult::Server(mut written)) => written.extra.remove(format.name()),
        _ => None,
    }
}

/// A change to one entry.
enum Change<'a> {
    Put(Pairs),
    Remove,
    Set(&'a str, Value),
    Unset(&'a [&'a str]),
}
