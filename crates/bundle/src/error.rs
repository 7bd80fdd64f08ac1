//! Why a described server cannot be used.

use std::fmt;

/// Why a described server cannot be used. Values of settings are never shown: they may be secrets.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DescriptorError {
    /// There is no description.
    #[error("unknown extension, bundle or registry entry `{id}`")]
    Unknown { id: String },
    /// There is a description already.
    #[error("`{id}` is already described; the first description is used")]
    Taken { id: String },
    /// The description cannot be used.
    #[error("the description of `{id}` is invalid: {message}")]
    Broken { id: String, message: String },
    /// The settings do not fit.
    #[error("JSON schema validation failed for the settings of `{id}`: {}", list(problems))]
    Settings { id: String, problems: Vec<SettingProblem> },
    /// It requires something beyond itself that was not confirmed.
    #[error("`{id}` asks for {}; confirm that first", list(asks))]
    Unconfirmed { id: String, asks: Vec<String> },
    /// Its program is not on this machine.
    #[error("`{id}` needs the command `{command}`, which is not found. {}", instructions.as_deref().unwrap_or("Install it, or add its directory to PATH."))]
    CommandMissing { id: String, command: String, instructions: Option<String> },
    /// It is not for this machine.
    #[error("`{id}` is for {}, not for {here}", list(platforms))]
    Platform { id: String, platforms: Vec<String>, here: &'static str },
    /// It is a bundle that must be fetched first.
    #[error("`{id}` is a bundle: fetch {url} and install it{}", sha256.as_ref().map(|hash| format!(" (SHA-256 {hash})")).unwrap_or_default())]
    NeedsBundle { id: String, url: String, sha256: Option<String> },
}

/// What is wrong with one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// Where: a JSON pointer, empty for the settings as a whole.
    pub path: String,
    /// What.
    pub message: String,
}

impl fmt::Display for SettingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(f, "at `{path}`: {}", self.message)
    }
}

fn list(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
