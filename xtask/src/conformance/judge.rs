//! What the suite saw, as it wrote it down.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::cells::Cell;
use crate::workspace::{files, read, root};

/// The outcome of one cell.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The suite's exit code: 0 if exactly what the baseline lists has failed.
    pub(super) exit: i32,
    /// What is wrong, by scenario; nothing for those that are clean.
    scenarios: BTreeMap<String, Vec<Fault>>,
}

/// A check that failed, or that gave a warning.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    check: String,
    reason: String,
}

impl Verdict {
    /// Reads what the suite left in `results`.
    pub(super) fn read(results: &Path, exit: i32) -> Result<Self> {
        let mut scenarios: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
        // The name of a scenario may contain a slash, and then its folder lies deeper.
        for file in files(results, "json")?.iter().filter(|file| file.ends_with("checks.json")) {
            let folder = file.parent().and_then(|folder| folder.strip_prefix(results).ok());
            let name = folder.unwrap_or(file).to_string_lossy();
            let Some(scenario) = scenario(&name) else { continue };
            let checks: Vec<Value> =
                serde_json::from_str(&read(file)?).with_context(|| format!("checks of {name}"))?;
            scenarios.entry(scenario.to_owned()).or_default().extend(checks.iter().filter_map(fault));
        }
        Ok(Self { exit, scenarios })
    }

    /// How many scenarios have nothing wrong.
    pub(super) fn clean(&self) -> usize {
        self.scenarios.values().filter(|faults| faults.is_empty()).count()
    }

    /// Whether all scenarios ran, and no more of them are unclean than the baseline lists.
    pub(super) fn is_good(&self, cell: &Cell) -> bool {
        let expected = cell.scenarios();
        let listed = listed(&read(&baseline(cell)).unwrap_or_default());
        self.exit == 0 && self.scenarios.len() == expected && self.clean() + listed >= expected
    }

    /// What failed, briefly.
    pub(super) fn summary(&self) -> Vec<String> {
        let unclean = self.scenarios.iter().filter(|(_, faults)| !faults.is_empty());
        unclean.map(|(name, faults)| format!("{name} ({})", faults.len())).collect()
    }

    /// What failed, check by check.
    pub(super) fn details(&self) -> Vec<String> {
        let all =
            self.scenarios.iter().flat_map(|(name, faults)| faults.iter().map(move |fault| (name, fault)));
        all.map(|(name, fault)| format!("{name}:{}: {}", fault.check, fault.reason)).collect()
    }
}

/// The file that lists what may fail in a cell.
pub(super) fn baseline(cell: &Cell) -> std::path::PathBuf {
    root().join("tests/conformance").join(cell.baseline)
}

/// How many scenarios a baseline mentions.
fn listed(baseline: &str) -> usize {
    let entries = baseline.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let scenarios = entries.filter_map(|entry| entry.split([':', ' ']).next());
    scenarios.collect::<std::collections::BTreeSet<_>>().len()
}

/// The scenario that a folder of results is about: `server-<scenario>-<time>`, `authorization-server-<scenario>-<time>`, or
/// `<scenario>-<time>` for clients.
fn scenario(folder: &str) -> Option<&str> {
    let of_server =
        || folder.strip_prefix("server-").or_else(|| folder.strip_prefix("authorization-server-"));
    let rest = of_server().unwrap_or(folder);
    // The names of some scenarios hold dates too; the time is last: `-2026-01-31T…`.
    rest.get(..rest.rfind('T')?.checked_sub("-2026-01-31".len())?)
}

fn fault(check: &Value) -> Option<Fault> {
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let is_fault = matches!(check["status"].as_str(), Some("FAILURE" | "WARNING"));
    is_fault.then(|| Fault { check: text("id"), reason: text("errorMessage") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_after_its_scenario() {
        assert_eq!(
            scenario("server-json-schema-2020-12-2026-11-16T05-16-01-123Z"),
            Some("json-schema-2020-12")
        );
        assert_eq!(scenario("server-ping-2026-11-16T05-16-01-123Z"), Some("ping"));
        assert_eq!(scenario("tools_call-2026-11-16T05-16-01-123Z"), Some("tools_call"));
        assert_eq!(scenario("auth/basic-cimd-2026-11-16T05-16-01-123Z"), Some("auth/basic-cimd"));
        assert_eq!(
            scenario("authorization-server-authorization-server-metadata-endpoint-2026-11-16T05-16-01-123Z"),
            Some("authorization-server-metadata-endpoint")
        );
        assert_eq!(scenario("suite.log"), None);
    }

    #[test]
    fn failures_and_warnings_are_faults_and_nothing_else_is() {
        let check = |status| serde_json::json!({ "id": "a", "status": status, "errorMessage": "why" });
        for status in ["SUCCESS", "SKIPPED", "INFO"] {
            assert_eq!(fault(&check(status)), None);
        }
        for status in ["FAILURE", "WARNING"] {
            assert_eq!(
                fault(&check(status)),
                Some(Fault { check: "a".to_owned(), reason: "why".to_owned() })
            );
        }
    }

    #[test]
    fn a_baseline_is_counted_by_scenarios() {
        let text = "server:\n  # A reason.\n  - ping\n  - tools:one # because\n  - tools:two\n";
        assert_eq!(listed(text), 2);
        assert_eq!(listed("server: []\n"), 0);
    }
}
