//! A whole file.

use std::{
    collections::HashSet,
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value as Ast},
    common::Ranged,
    parse_to_ast,
};

use crate::{ServerConfig, entry::check};

/// A larger file is no configuration.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// JSON with comments and trailing commas, and nothing else: a forgotten comma is a mistake worth a word.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What a file says.
#[derive(Debug, Default)]
pub struct ConfigFile {
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// Entries that cannot be used, and why.
    pub problems: Vec<Problem>,
}

/// Why one entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The entry.
    pub server: String,
    /// What is wrong with it.
    pub message: String,
    /// Where it stands.
    pub place: Place,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: server `{}`: {}", self.place, self.server, self.message)
    }
}

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Place {
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a whole file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Anyone could change it, and with it what we run.
    #[error("anyone may write to the configuration {0}, and so choose what is run; try: chmod o-w {0}", path.display())]
    WritableByAll { path: PathBuf },
    /// It is too large.
    #[error("the configuration {} is larger than {} MiB", path.display(), MAX_FILE >> 20)]
    TooLarge { path: PathBuf },
    /// It is no JSON.
    #[error("{}:{place}: {message}", path.display())]
    Syntax { path: PathBuf, place: Place, message: String },
    /// It has no servers in a place we know.
    #[error("{}: there is no `mcpServers` object in it{}", path.display(), hint.as_deref().unwrap_or(""))]
    NoServers { path: PathBuf, hint: Option<String> },
}

/// Reads a file.
pub fn load(path: &Path) -> Result<ConfigFile, ConfigError> {
    let read = |source| ConfigError::Read { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(read)?;
    if metadata.is_file() && metadata.permissions().mode() & 0o002 != 0 {
        return Err(ConfigError::WritableByAll { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE {
        return Err(ConfigError::TooLarge { path: path.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(read)?;
    parse(&text, path)
}

/// Reads the text of a file. Relative folders in it start where the file is.
pub fn parse(text: &str, path: &Path) -> Result<ConfigFile, ConfigError> {
    let syntax = |byte, message: String| ConfigError::Syntax {
        path: path.to_owned(),
        place: Place::of(text, byte),
        message,
    };
    let ast = parse_to_ast(text, &CollectOptions::default(), &JSONC)
        .map_err(|error| syntax(error.range().start, error.kind().to_string()))?
        .value;
    let Some(Ast::Object(root)) = ast else {
        return Err(syntax(0, "a configuration is a JSON object".to_owned()));
    };
    let Some(Ast::Object(servers)) = root.get("mcpServers").map(|property| &property.value) else {
        let hint = root
            .get("servers")
            .map(|_| "; it has `servers`, as VS Code writes it: rename that key to `mcpServers`".to_owned());
        return Err(ConfigError::NoServers { path: path.to_owned(), hint });
    };
    let base = path.parent().unwrap_or(Path::new(""));
    let mut file = ConfigFile::default();
    let mut seen = HashSet::new();
    for property in &servers.properties {
        file.take(text, property, base, &mut seen);
    }
    Ok(file)
}

impl ConfigFile {
    fn take(&mut self, text: &str, property: &ObjectProp<'_>, base: &Path, seen: &mut HashSet<String>) {
        let name = property.name.as_str().to_owned();
        let place = Place::of(text, property.start());
        let checked = if seen.insert(name.clone()) {
            check(&name, property.value.clone().into(), base)
        } else {
            Err("the name stands twice; the first entry counts".to_owned())
        };
        match checked {
            Ok(server) => self.servers.push(server),
            Err(message) => self.problems.push(Problem { server: name, message, place }),
        }
    }
}
