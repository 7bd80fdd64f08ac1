//! What was found, told as it comes.

use serde_json::json;

use super::finding::{Finding, Level};
use crate::{
    app::{context::Context, error::CliError},
    term::{
        live_region::Redraw,
        output::{Output, to_stderr},
        style::clean_line,
    },
};

/// What was found so far. People read each finding at once; programs get all of them at the end, in the order of the checks.
pub(super) struct DoctorReport<'a> {
    out: &'a Output,
    /// Findings, and the place of their check in the order.
    found: Vec<(usize, Finding)>,
    /// A line on a terminal that says what is waited for.
    progress: Redraw,
}

impl<'a> DoctorReport<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { out: &context.out, found: Vec::new(), progress: Redraw::default() }
    }

    /// Takes what a check found.
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

    /// Prints everything for programs; the error says how many problems there are.
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
