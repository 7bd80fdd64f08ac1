//! What was measured, as the documents show it.

use std::fmt;

use super::{Figures, measure::megabytes, semble, times::shown};

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) ours: Vec<Figures>,
    /// Others, on the first of our trees.
    pub(super) peers: Vec<(&'static str, semble::Figures)>,
    /// What was asked over MCP, and what came of it.
    pub(super) server: Vec<(String, String)>,
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| tree | files | MB | chunks | indexed in | MB/s | chunks/s | on disk |")?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for ours in &self.ours {
            let took = ours.indexed.as_secs_f64();
            writeln!(
                f,
                "| {} | {} | {:.0} | {} | {} | {:.1} | {:.0} | {:.0} MB |",
                ours.name,
                grouped(ours.files),
                megabytes(ours.bytes),
                grouped(ours.chunks),
                shown(ours.indexed),
                megabytes(ours.bytes) / took,
                ours.chunks as f64 / took,
                megabytes(ours.disk),
            )?;
        }
        writeln!(
            f,
            "\n| chunks | opened in | first question | p50 | p99 | a saved file found, p50 / p99 | in the index | anonymous memory |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for ours in &self.ours {
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {} | {:.0} MB |",
                grouped(ours.chunks),
                shown(ours.opened),
                shown(ours.first),
                shown(ours.questions.median()),
                shown(ours.questions.at(99)),
                ours.saved.both(),
                shown(ours.updates.median()),
                ours.memory,
            )?;
        }
        if let Some(ours) = self.ours.first().filter(|_| !self.peers.is_empty()) {
            writeln!(f, "\n| the mixed tree | chunks | indexed in | p50 | p99 |\n|---|---|---|---|---|")?;
            let row = (grouped(ours.chunks), shown(ours.indexed), &ours.questions);
            writeln!(
                f,
                "| toolbay | {} | {} | {} | {} |",
                row.0,
                row.1,
                shown(row.2.median()),
                shown(row.2.at(99))
            )?;
            for (name, theirs) in &self.peers {
                let times = |theirs: std::time::Duration, ours: std::time::Duration| {
                    format!("{}, {:.1}×", shown(theirs), theirs.as_secs_f64() / ours.as_secs_f64())
                };
                writeln!(
                    f,
                    "| {name} | {} | {} | {} | {} |",
                    grouped(theirs.chunks),
                    times(theirs.indexed, ours.indexed),
                    times(theirs.questions.median(), ours.questions.median()),
                    times(theirs.questions.at(99), ours.questions.at(99)),
                )?;
            }
        }
        if !self.server.is_empty() {
            writeln!(f, "\n| over MCP | |\n|---|---|")?;
        }
        self.server.iter().try_for_each(|(what, came)| writeln!(f, "| {what} | {came} |"))
    }
}

/// Digits in groups of three.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
