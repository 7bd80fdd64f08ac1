//! The values of variables, as the caller gives them: nothing here looks at the environment.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    Input,
    files::small::read_small_text,
    template::{Keyword, MissingValue, ValueSource, Variable},
};

/// A file with a secret is short.
const MAX_SECRET_FILE: u64 = 64 * 1024;

/// Whether files are read that hold values: those of `${file:…}`, and files of variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadFiles {
    /// They are not: for showing and importing.
    #[default]
    Never,
    /// They are: for starting servers.
    Now,
}

/// The values of variables in a file.
#[derive(Clone, Default)]
pub struct Variables {
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// `${workspaceFolder}`; without it, the folder that the file belongs to.
    pub workspace: Option<PathBuf>,
    /// `${userHome}`.
    pub home: Option<PathBuf>,
    /// `${input:…}`, by id; without one, the [variable](Input::variable) of the environment counts.
    pub inputs: BTreeMap<String, String>,
    /// Whether files with values are read.
    pub files: ReadFiles,
    /// `${CLAUDE_PLUGIN_ROOT}`, and where relative paths in `${file:…}` start; without it, the folder of the file.
    pub folder: Option<PathBuf>,
}

/// Values may be secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.inputs.keys().collect();
        f.debug_struct("Variables")
            .field("workspace", &self.workspace)
            .field("home", &self.home)
            .field("inputs", &names)
            .finish_non_exhaustive()
    }
}

impl Missing {
    /// Whether a server will hardly work without it.
    pub(crate) fn matters(&self) -> bool {
        matches!(self.lack, MissingValue::Stays | MissingValue::LeavesOut)
    }

    /// The consequence, as a message.
    pub(crate) fn fate(&self) -> Option<&'static str> {
        match self.lack {
            MissingValue::Stays => Some("the text stays as written"),
            MissingValue::Empties => Some("it expands to nothing"),
            MissingValue::LeavesOut => Some("what needs it is omitted"),
            MissingValue::IsFine => None,
        }
    }
}

/// A variable without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// What to call it in a message.
    pub(crate) name: String,
    /// What to do about it.
    pub(crate) hint: String,
    /// What became of it.
    pub(crate) lack: MissingValue,
}

impl Variables {
    /// The variables of a file, with the defaults of its inputs.
    pub(crate) fn for_file(&self, path: &Path, root: &Path, defaults: &BTreeMap<String, String>) -> Self {
        let mut all = self.clone();
        all.folder.get_or_insert_with(|| path.parent().unwrap_or(Path::new("")).to_owned());
        all.workspace.get_or_insert_with(|| root.to_owned());
        for (id, value) in defaults {
            let of_environment = self.env.get(&Input::variable(id)).unwrap_or(value);
            all.inputs.entry(id.clone()).or_insert_with(|| of_environment.clone());
        }
        all
    }

    /// Expands a variable: to its value, its default, or the text as written.
    pub(crate) fn value_of(&self, variable: &Variable, missing: &mut Vec<Missing>) -> String {
        let found = match &variable.source {
            ValueSource::Env(name) => self.env(name).ok_or_else(|| format!("set {name} in the environment")),
            ValueSource::Input(id) => {
                let name = Input::variable(id);
                let value = self.inputs.get(id).cloned().or_else(|| self.env.get(&name).cloned());
                value.ok_or_else(|| format!("set {name} in the environment"))
            }
            ValueSource::File(_) if self.files == ReadFiles::Never => return variable.written.clone(),
            ValueSource::File(path) => self.read(path),
            // Looked up when a server is started.
            ValueSource::Secret(_) => return variable.native(),
            ValueSource::Word(word) => {
                self.word(*word).ok_or_else(|| format!("the value of {} is not known", word.name()))
            }
        };
        // As in a shell, `:-` applies to empty values, too.
        match (found, &variable.default) {
            (Ok(value), Some(default)) if value.is_empty() => default.clone(),
            (Ok(value), _) => value,
            (Err(_), Some(default)) => default.clone(),
            (Err(hint), None) => {
                missing.push(Missing { name: variable.source.name(), hint, lack: variable.lack });
                match variable.lack {
                    MissingValue::Stays => variable.written.clone(),
                    MissingValue::Empties | MissingValue::LeavesOut | MissingValue::IsFine => String::new(),
                }
            }
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        let home = || self.word(Keyword::Home).filter(|_| name == "HOME");
        self.env.get(name).cloned().or_else(home)
    }

    pub(crate) fn word(&self, word: Keyword) -> Option<String> {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        match word {
            Keyword::Workspace => text(self.workspace.as_deref()?),
            Keyword::WorkspaceName => text(Path::new(self.workspace.as_deref()?.file_name()?)),
            Keyword::Home => text(self.home.as_deref()?),
            Keyword::Separator => Some(std::path::MAIN_SEPARATOR.to_string()),
            Keyword::Folder => text(self.folder.as_deref()?),
        }
    }

    /// The file that `${file:…}` means.
    pub(crate) fn path_of(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.as_deref().unwrap_or(Path::new("")).join(path),
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let path = self.path_of(path);
        let text = read_small_text(&path, MAX_SECRET_FILE)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }
}
