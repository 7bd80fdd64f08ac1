//! The table `[audit]`: the log of calls.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::unknown;
use crate::syntax::{Key, Node};

/// In `[audit]`.
pub(crate) const KEYS: [&str; 7] =
    ["enabled", "path", "arguments", "fsync", "max_size", "keep", "on_failure"];

/// The least `max_size`: a few records.
const MIN_SIZE: u64 = 4096;

/// Whether there is a table `[audit]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AuditSection {
    /// There is none: nothing is recorded.
    #[default]
    Absent,
    /// It can be used.
    Valid(Box<AuditFile>),
    /// It has errors, which are reported. A hub must not run without it then: calls would not be recorded.
    Invalid,
}

/// The table `[audit]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditFile {
    /// Whether calls are recorded; without it, they are.
    pub enabled: Option<bool>,
    /// The directory of the files; without it, one in the state directory.
    pub path: Option<PathBuf>,
    /// Whether arguments are recorded.
    pub arguments: bool,
    /// Whether records must be on the disk before calls go on.
    pub fsync: bool,
    /// The size in bytes at which another file is begun.
    pub max_size: Option<u64>,
    /// How many files are kept beside the current one.
    pub keep: Option<usize>,
    /// What happens when records cannot be written.
    pub on_failure: AuditFailure,
}

/// What happens to calls when they cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditFailure {
    /// They are refused.
    Block,
    /// They go on.
    #[default]
    Warn,
}

/// Reads the table; `path` reads a path, `wrong` collects mistakes.
pub(super) fn read(
    settings: &[(Key, Node)],
    path: impl Fn(&str, &Node) -> Result<PathBuf, String>,
    mut wrong: impl FnMut(&Key, String),
) -> AuditSection {
    let (mut is_valid, mut whole) = (true, Map::new());
    for (key, node) in settings {
        let value = match key.text.as_str() {
            "path" => path("path", node).map(|path| Value::from(path.to_string_lossy())),
            known if KEYS.contains(&known) => Ok(node.to_json()),
            other => Err(unknown(other, &KEYS)),
        };
        // One key at a time, so that an error is reported at its location.
        let checked = value.and_then(|value| {
            let alone = serde_json::from_value(json!({ &key.text: &value }));
            let alone: AuditFile = alone.map_err(|error| format!("`{}`: {error}", key.text))?;
            match alone.max_size {
                Some(size) if size < MIN_SIZE => Err(format!("`max_size` must be at least {MIN_SIZE}")),
                _ => Ok(value),
            }
        });
        match checked {
            Ok(value) => drop(whole.insert(key.text.clone(), value)),
            Err(message) => {
                is_valid = false;
                wrong(key, message);
            }
        }
    }
    match serde_json::from_value(Value::Object(whole)) {
        Ok(file) if is_valid => AuditSection::Valid(Box::new(file)),
        _ => AuditSection::Invalid, // reported above
    }
}
