//! What a check found.

use serde::Serialize;

use crate::term::style::{Palette, clean_line};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Level {
    #[serde(rename = "ok")]
    Good,
    #[serde(rename = "warning")]
    Odd,
    #[serde(rename = "error")]
    Bad,
}

/// What a check found.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// What was looked at: `config`, `program`, `files`, …
    pub(super) check: &'static str,
    #[serde(rename = "status")]
    pub(super) level: Level,
    /// The server it is about, if it is about one.
    pub(super) server: Option<String>,
    pub(super) message: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
    /// What a server said, for example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) details: Vec<String>,
}

impl Finding {
    pub(super) fn good(check: &'static str, message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), Vec::new());
        Self { check, level: Level::Good, server: None, message, fix: None, details }
    }

    pub(super) fn odd(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Odd, ..Self::good(check, message) }
    }

    pub(super) fn bad(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Bad, ..Self::good(check, message) }
    }

    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    pub(super) fn about(self, server: &str) -> Self {
        Self { server: Some(server.to_owned()), ..self }
    }

    pub(super) fn details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }

    /// A line, and one below it for the fix and for each detail.
    pub(super) fn to_text(&self, paint: Palette) -> String {
        let mark = match self.level {
            Level::Good => paint.green("✓"),
            Level::Odd => paint.yellow("!"),
            Level::Bad => paint.red("✗"),
        };
        let about = clean_line(self.server.as_deref().unwrap_or(self.check));
        let mut text = format!("{mark} {}: {}\n", paint.bold(&about), clean_line(&self.message));
        for detail in &self.details {
            text.push_str(&format!("    {}\n", paint.dim(&clean_line(detail))));
        }
        if let Some(fix) = &self.fix {
            text.push_str(&format!("    fix: {}\n", clean_line(fix)));
        }
        text
    }
}
