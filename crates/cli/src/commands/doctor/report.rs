//! The findings of `doctor`, printed as they come.

use serde::Serialize;
use serde_json::json;

use crate::{
    app::{context::Context, error::CliError},
    term::{
        output::{Output, to_stderr},
        screen::Redraw,
        style::{Palette, clean_line},
    },
};

/// The findings so far. Text is printed at once; JSON has all of them at the end, in the order of the checks.
pub(super) struct DoctorReport<'a> {
    out: &'a Output,
    /// Findings, and the place of their check in the order.
    found: Vec<(usize, Finding)>,
    /// A line on a terminal with the pending checks.
    progress: Redraw,
}

impl<'a> DoctorReport<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { out: &context.out, found: Vec::new(), progress: Redraw::default() }
    }

    /// Adds the findings of a check.
    pub(super) fn add(
        &mut self,
        check: usize,
        findings: impl IntoIterator<Item = Finding>,
    ) -> Result<(), CliError> {
        for finding in findings {
            if !self.out.json {
                self.draw(Vec::new());
                self.out.data(&finding.to_text(self.out.paint))?;
            }
            self.found.push((check, finding));
        }
        Ok(())
    }

    /// Says on a terminal which servers are waited for.
    pub(super) fn wait_for(&mut self, servers: &[&str]) {
        if servers.is_empty() || self.out.json || self.out.is_quiet() || !self.out.stderr_is_terminal {
            return;
        }
        let names: Vec<String> = servers.iter().map(|name| clean_line(name)).collect();
        let counted =
            if names.len() == 1 { "1 server".to_owned() } else { format!("{} servers", names.len()) };
        self.draw(vec![self.out.paint_status.dim(&format!("checking {counted}: {}", names.join(", ")))]);
    }

    /// Prints everything as JSON; the error has the number of problems.
    pub(super) fn finish(mut self) -> Result<(), CliError> {
        self.draw(Vec::new());
        self.found.sort_by_key(|(check, _)| *check);
        let count = |level| self.found.iter().filter(|(_, finding)| finding.level == level).count();
        let (errors, warnings) = (count(Level::Bad), count(Level::Odd));
        if self.out.json {
            let findings: Vec<&Finding> = self.found.iter().map(|(_, finding)| finding).collect();
            let all =
                json!({ "ok": errors == 0, "errors": errors, "warnings": warnings, "checks": findings });
            self.out.json_object(&all)?;
        }
        if errors == 0 { Ok(()) } else { Err(CliError::Unwell { problems: errors }) }
    }

    fn draw(&mut self, lines: Vec<String>) {
        if let Some(text) = self.progress.with(lines) {
            to_stderr(&text);
        }
    }
}

/// The severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Level {
    #[serde(rename = "ok")]
    Good,
    #[serde(rename = "warning")]
    Odd,
    #[serde(rename = "error")]
    Bad,
}

/// The result of a check.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    /// The name of the check: `config`, `program`, `files`, …
    pub(super) check: &'static str,
    #[serde(rename = "status")]
    pub(super) level: Level,
    /// The server it is about, if it is about one.
    pub(super) server: Option<String>,
    pub(super) message: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
    /// More lines, such as the stderr of a server.
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
