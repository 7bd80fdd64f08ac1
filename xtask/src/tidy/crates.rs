//! Rules about crates: who may depend on whom, and what every manifest says.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::workspace::read;

/// What each crate may depend on, beside crates that are not ours; the table of ARCHITECTURE.md.
/// Development dependencies are free: a test may use what it likes.
const MAY_USE: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("translate", &["protocol"]),
    ("transport", &["protocol"]),
    ("supervise", &[]),
    ("upstream", &["protocol", "translate", "transport", "supervise"]),
    ("config", &["protocol", "policy"]),
    ("bundle", &["protocol", "config"]),
    ("server", &["protocol", "transport"]),
    ("policy", &["protocol"]),
    ("host", &["protocol", "transport", "upstream", "config", "policy", "schema"]),
    ("agent", &["protocol", "transport", "upstream", "config", "bundle", "server", "host", "schema"]),
    ("control", &["protocol", "host", "config"]),
    (
        "gateway",
        &[
            "protocol",
            "translate",
            "transport",
            "host",
            "access",
            "policy",
            "toolsearch",
            "code",
            "audit",
            "results",
        ],
    ),
    ("results", &["protocol"]),
    ("schema", &["protocol"]),
    ("files", &[]),
    ("search", &["files"]),
    ("toolsearch", &["protocol"]),
    ("sandbox", &[]),
    ("code", &["supervise", "sandbox"]),
    ("pins", &["protocol", "config"]),
    ("audit", &["protocol"]),
    ("secrets", &["protocol", "supervise"]),
    ("oauth", &["transport"]),
    ("access", &["protocol", "transport", "oauth"]),
    ("builtin", &["protocol", "transport", "supervise", "server", "files", "search", "sandbox", "results"]),
    ("panel", &["protocol", "control"]),
    ("cli", ALL),
    ("testkit", ALL),
    ("bench", &["transport", "testkit"]),
    ("fixture", &["protocol", "transport", "oauth", "testkit"]),
    ("lab", &["search", "toolsearch"]),
];

/// All libraries that are shipped.
pub(super) const ALL: &[&str] = &[
    "protocol",
    "translate",
    "transport",
    "supervise",
    "upstream",
    "config",
    "bundle",
    "host",
    "policy",
    "agent",
    "control",
    "gateway",
    "files",
    "search",
    "toolsearch",
    "sandbox",
    "code",
    "secrets",
    "server",
    "oauth",
    "access",
    "builtin",
    "pins",
    "audit",
    "panel",
    "results",
    "schema",
];

/// Crates of others that only one crate of ours may use, and never for what we ship.
const TEST_PEERS: &[(&str, &str)] = &[("rmcp", "fixture")];

/// Crates with one named module each that may hold unsafe code.
const MAY_BE_UNSAFE: &[&str] = &["protocol", "supervise", "search", "sandbox"];

pub(super) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for name in folders(&root.join("crates"))? {
        let folder = root.join("crates").join(&name);
        let manifest = manifest(&folder)?;
        findings.extend(manifest_findings(&format!("crates/{name}"), &manifest));
        findings.extend(dependency_findings(&name, &manifest));
        findings.extend(unsafe_findings(&name, &folder)?);
    }
    findings.extend(manifest_findings("xtask", &manifest(&root.join("xtask"))?));
    Ok(findings)
}

fn manifest_findings(folder: &str, manifest: &Table) -> Vec<String> {
    let mut findings = Vec::new();
    let inherits = |table: &Value| table.get("workspace") == Some(&Value::Boolean(true));
    if !manifest.get("lints").is_some_and(inherits) {
        findings.push(format!("{folder}/Cargo.toml: say `[lints] workspace = true`"));
    }
    for (_, name, value) in dependencies(manifest) {
        if !inherits(value) {
            findings.push(format!(
                "{folder}/Cargo.toml: `{name}` gets its version from the workspace: `{name}.workspace = true`"
            ));
        }
    }
    findings
}

fn dependency_findings(name: &str, manifest: &Table) -> Vec<String> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        return vec![format!("crates/{name}: not in the crate table; add it there and to ARCHITECTURE.md")];
    };
    let mut findings = Vec::new();
    for (kind, dependency, _) in dependencies(manifest) {
        let development = kind == "dev-dependencies";
        if let Some((peer, only)) = TEST_PEERS.iter().find(|(peer, _)| *peer == dependency)
            && *only != name
        {
            findings.push(format!("crates/{name}: `{peer}` is a test peer, only `{only}` uses it"));
        }
        let ours = dependency.strip_prefix("toolbay-").or((dependency == "toolbay").then_some("cli"));
        if let Some(ours) = ours
            && !development
            && !allowed.contains(&ours)
        {
            findings.push(format!(
                "crates/{name}: must not depend on `{ours}` (the crate table allows: {allowed:?})"
            ));
        }
    }
    findings
}

/// A crate forbids unsafe code in its root, or is one of the few that may hold some.
fn unsafe_findings(name: &str, folder: &Path) -> Result<Vec<String>> {
    if MAY_BE_UNSAFE.contains(&name) {
        return Ok(Vec::new());
    }
    let mut findings = Vec::new();
    for root in ["src/lib.rs", "src/main.rs"].iter().filter(|root| folder.join(root).exists()) {
        if !read(&folder.join(root))?.contains("#![forbid(unsafe_code)]") {
            findings.push(format!("crates/{name}/{root}: say `#![forbid(unsafe_code)]`"));
        }
    }
    Ok(findings)
}

/// Each dependency as its section's name, its own name and its specification.
fn dependencies(manifest: &Table) -> Vec<(&'static str, &str, &Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let scopes: Vec<&Table> = [manifest].into_iter().chain(platforms.filter_map(Value::as_table)).collect();
    let mut found = Vec::new();
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for section in scopes.iter().filter_map(|scope| scope.get(kind)?.as_table()) {
            found.extend(section.iter().map(|(name, value)| (kind, name.as_str(), value)));
        }
    }
    found
}

fn manifest(folder: &Path) -> Result<Table> {
    let path = folder.join("Cargo.toml");
    read(&path)?.parse().with_context(|| format!("{} is no TOML", path.display()))
}

fn folders(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &str, manifest: &str) -> Vec<String> {
        let manifest = manifest.parse().expect("TOML");
        [manifest_findings(&format!("crates/{name}"), &manifest), dependency_findings(name, &manifest)]
            .concat()
    }

    #[test]
    fn a_crate_that_keeps_the_rules_is_not_mentioned() {
        let manifest = "lints.workspace = true\n\
            [dependencies]\ntoolbay-upstream.workspace = true\nserde = { workspace = true, features = [\"rc\"] }\n\
            [dev-dependencies]\ntoolbay-testkit.workspace = true\n";
        assert_eq!(about("host", manifest), [""; 0]);
    }

    #[test]
    fn each_broken_rule_is_named() {
        let manifest = "[dependencies]\ntoolbay-supervise.workspace = true\nserde = \"1\"\n\
            [target.'cfg(unix)'.dependencies]\ntoolbay-testkit.workspace = true\n\
            [dev-dependencies]\nrmcp.workspace = true\n";
        let findings = about("host", manifest).join("\n");
        for part in ["[lints]", "`serde` gets", "on `supervise`", "on `testkit`", "`rmcp` is a test peer"] {
            assert!(findings.contains(part), "{part} is not in:\n{findings}");
        }
        assert!(about("wardrobe", "lints.workspace = true")[0].contains("not in the crate table"));
    }
}
