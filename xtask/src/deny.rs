//! `cargo xtask deny`: licences, duplicates and sources of what we depend on, as `deny.toml` says.
//!
//! The same file drives `cargo-deny`. Building that tool takes longer than our whole test run, so these three checks
//! are made here, over `cargo metadata`. Advisories need its database: they are checked where `cargo-deny` is
//! installed and the database can be fetched, and elsewhere we say that they were not.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toml::Table;

use crate::spdx;
use crate::workspace::{cargo, metadata, must, read, root};

/// Fails with one line per finding.
pub(crate) fn run() -> Result<()> {
    let rules: Table = read(&root().join("deny.toml"))?.parse().context("deny.toml is no TOML")?;
    let graph = Graph::load(&strings(&rules, "graph", "targets"))?;
    let findings = [licences(&rules, &graph), duplicates(&rules, &graph), sources(&graph)].concat();
    if !findings.is_empty() {
        bail!("deny.toml forbids:\n  {}", findings.join("\n  "));
    }
    eprintln!("{} crates of others: licences, duplicates and sources are fine", graph.foreign().count());
    advisories()
}

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: Option<String>,
}

/// What is compiled on any of our platforms, for us or for our tests.
#[derive(Default)]
struct Graph {
    packages: BTreeMap<String, Package>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn load(platforms: &[String]) -> Result<Self> {
        let mut graph = Self::default();
        for platform in platforms {
            let metadata = metadata(&["--all-features", "--filter-platform", platform])?;
            for node in array(&metadata["resolve"]["nodes"]) {
                let uses = array(&node["dependencies"]).iter().map(text);
                graph.uses.entry(text(&node["id"])).or_default().extend(uses);
            }
            for package in array(&metadata["packages"]) {
                let optional = |key: &str| package[key].as_str().map(str::to_owned);
                graph.packages.insert(
                    text(&package["id"]),
                    Package {
                        name: text(&package["name"]),
                        version: text(&package["version"]),
                        licence: optional("license"),
                        source: optional("source"),
                    },
                );
            }
        }
        // `packages` also lists what only other platforms need.
        graph.packages.retain(|id, _| graph.uses.contains_key(id));
        Ok(graph)
    }

    /// Ours have no source: they are here.
    fn foreign(&self) -> impl Iterator<Item = (&String, &Package)> {
        self.packages.iter().filter(|(_, package)| package.source.is_some())
    }

    /// The crate of this name and all below it.
    fn tree(&self, name: &str) -> BTreeSet<&String> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&String> =
            self.packages.iter().filter(|(_, it)| it.name == name).map(|it| it.0).collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(&self.uses[id]);
            }
        }
        seen
    }
}

fn licences(rules: &Table, graph: &Graph) -> Vec<String> {
    let allow = strings(rules, "licenses", "allow");
    let mut findings = Vec::new();
    for (_, Package { name, version, licence, .. }) in graph.foreign() {
        let excepted: Vec<String> = tables(rules, "licenses", "exceptions")
            .filter(|exception| exception.get("crate").and_then(toml::Value::as_str) == Some(name))
            .flat_map(|exception| texts(exception.get("allow")))
            .collect();
        let allowed = |licence: &str| allow.iter().chain(&excepted).any(|it| it == licence);
        match licence {
            Some(licence) if spdx::satisfied(licence, &allowed) => {}
            Some(licence) => findings.push(format!("licence of {name} {version}: {licence}")),
            None => findings.push(format!("licence of {name} {version}: none is stated")),
        }
    }
    findings
}

fn duplicates(rules: &Table, graph: &Graph) -> Vec<String> {
    let crates = |key| -> Vec<String> {
        let named = tables(rules, "bans", key).filter_map(|it| it.get("crate")?.as_str().map(str::to_owned));
        named.chain(strings(rules, "bans", key)).collect()
    };
    let (skip, banned) = (crates("skip"), crates("deny"));
    let ignored: BTreeSet<&String> = crates("skip-tree").iter().flat_map(|name| graph.tree(name)).collect();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (id, Package { name, version, .. }) in graph.foreign() {
        if banned.contains(name) {
            findings.push(format!("banned: {name} {version}"));
        }
        let skipped = skip.iter().any(|spec| covers(spec, name, version));
        if !skipped && !ignored.contains(id) {
            versions.entry(name).or_default().insert(version);
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let versions: Vec<_> = versions.iter().copied().collect();
        findings.push(format!("{name} in {} versions: {}", versions.len(), versions.join(", ")));
    }
    findings
}

/// `syn`, `syn@2` and `syn@2.0.1` all cover syn 2.0.1.
fn covers(spec: &str, name: &str, version: &str) -> bool {
    match spec.split_once('@') {
        None => spec == name,
        Some((wanted, start)) => {
            let rest = version.strip_prefix(start);
            wanted == name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '+']))
        }
    }
}

/// Everything comes from the one registry that Cargo uses by itself.
fn sources(graph: &Graph) -> Vec<String> {
    let strange = graph.foreign().filter(|(_, package)| {
        let source = package.source.as_deref().unwrap_or_default();
        !(source.starts_with("registry+") && source.ends_with("/crates.io-index"))
    });
    strange.map(|(id, package)| format!("source of {}: {id}", package.name)).collect()
}

fn advisories() -> Result<()> {
    let works = |args: &[&str]| {
        let mut command = cargo(args);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if !works(&["deny", "--version"]) {
        eprintln!("advisories: not checked, cargo-deny is not installed (cargo install --locked cargo-deny)");
        return Ok(());
    }
    if !works(&["deny", "fetch", "db"]) {
        eprintln!("advisories: not checked, their database cannot be fetched from here");
        return Ok(());
    }
    must(&mut cargo(&["deny", "check", "--disable-fetch", "advisories"]))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn strings(rules: &Table, section: &str, key: &str) -> Vec<String> {
    texts(rules.get(section).and_then(|section| section.get(key)))
}

fn texts(value: Option<&toml::Value>) -> Vec<String> {
    let items = value.and_then(toml::Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn tables<'a>(rules: &'a Table, section: &str, key: &str) -> impl Iterator<Item = &'a Table> {
    let items = rules.get(section).and_then(|section| section.get(key)?.as_array());
    items.into_iter().flatten().filter_map(toml::Value::as_table)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_skipped_crate_is_named_with_as_much_version_as_needed() {
        for spec in ["syn", "syn@2", "syn@2.0", "syn@2.0.11"] {
            assert!(covers(spec, "syn", "2.0.11"), "{spec}");
        }
        for spec in ["sy", "syn@3", "syn@2.0.1", "syn@2.0.11.1", "quote@2"] {
            assert!(!covers(spec, "syn", "2.0.11"), "{spec}");
        }
    }
}
