//! Asks a registry which version of a package there is, and where.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::run;

/// Larger archives hold data or compiled code, hardly ever more to learn from.
const MOST_BYTES: u64 = 120 << 20;
const DEBIAN: &str = "http://deb.debian.org/debian";
/// The first release that has a package is taken.
const DEBIAN_RELEASES: [&str; 2] = ["bookworm", "trixie"];

/// A version of a package, as a registry offers it.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(crate) version: String,
    pub(crate) url: String,
}

/// The registries, by language: crates.io, npm, PyPI and, for the rest, Debian.
pub(super) struct Registries {
    debian: HashMap<String, Offer>,
}

impl Registries {
    /// Fetches Debian's list of packages into `cache`; the others are asked one by one.
    pub(super) fn new(cache: &Path) -> Result<Self> {
        let mut debian = HashMap::new();
        for release in DEBIAN_RELEASES {
            let packed = cache.join(format!("debian-{release}.xz"));
            if !packed.exists() {
                let url = format!("{DEBIAN}/dists/{release}/main/binary-amd64/Packages.xz");
                download(&url, &packed)?;
            }
            let text = String::from_utf8_lossy(&run("xz", [Path::new("-dc"), &packed])?).into_owned();
            for paragraph in text.split("\n\n") {
                let field = |name: &str| {
                    paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                };
                let (Some(name), Some(version), Some(file)) =
                    (field("Package"), field("Version"), field("Filename"))
                else {
                    continue;
                };
                let offer = Offer { version: version.to_owned(), url: format!("{DEBIAN}/{file}") };
                debian.entry(name.to_owned()).or_insert(offer);
            }
        }
        Ok(Self { debian })
    }

    /// What there is of `language/name`.
    pub(super) fn find(&self, package: &str) -> Result<Offer> {
        let (language, name) = package.split_once('/').context("not `language/name`")?;
        match language {
            "rust" => crates_io(name),
            "js" => npm(name),
            "python" => pypi(name),
            "debian" | "go" | "php" | "ruby" => {
                self.debian.get(name).cloned().context("Debian has no such package")
            }
            _ => bail!("no registry is known for the language {language}"),
        }
    }
}

/// Fetches into a file that is there whole or not at all.
pub(super) fn download(url: &str, to: &Path) -> Result<()> {
    let part = PathBuf::from(format!("{}.part", to.display()));
    let arguments = ["-fsSL", "--retry", "4", "--max-time", "600", "-o"].map(str::to_owned);
    run("curl", arguments.into_iter().chain([part.display().to_string(), url.to_owned()]))?;
    std::fs::rename(&part, to).with_context(|| format!("cannot write {}", to.display()))
}

pub(crate) fn ask(url: &str) -> Result<Vec<u8>> {
    run("curl", ["-fsSL", "--retry", "4", "--max-time", "60", url])
}

/// `name` or `name-1.2.3`.
fn crates_io(package: &str) -> Result<Offer> {
    let split = package.match_indices('-').find(|(at, _)| version_of(&package[at + 1..]).is_some());
    let (name, wanted) = split.map_or((package, None), |(at, _)| (&package[..at], Some(&package[at + 1..])));
    let lower = name.to_lowercase();
    let folder = match lower.len() {
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        3 => format!("3/{}", &lower[..1]),
        _ => format!("{}/{}", &lower[..2], &lower[2..4]),
    };
    let listing = ask(&format!("https://index.crates.io/{folder}/{lower}"))?;
    let mut best: Option<((u64, u64, u64), Value)> = None;
    for line in listing.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let entry: Value = serde_json::from_slice(line)?;
        let version = entry["vers"].as_str().unwrap_or_default();
        let Some(number) = version_of(version) else { continue };
        let is_wanted = wanted.map_or(entry["yanked"] != true, |wanted| wanted == version);
        if is_wanted && best.as_ref().is_none_or(|(best, _)| *best < number) {
            best = Some((number, entry));
        }
    }
    let (_, entry) = best.context("no such version")?;
    let (name, version) =
        (entry["name"].as_str().unwrap_or(name), entry["vers"].as_str().unwrap_or_default());
    let url = format!("https://static.crates.io/crates/{name}/{name}-{}.crate", version.replace('+', "%2B"));
    Ok(Offer { version: version.to_owned(), url })
}

/// The three numbers of a release; nothing for what comes before one.
fn version_of(text: &str) -> Option<(u64, u64, u64)> {
    let text = text.split_once('+').map_or(text, |(version, _)| version);
    let mut numbers = text.splitn(3, '.').map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// A scope is written with `_` in the list: `scope_name`.
fn npm(name: &str) -> Result<Offer> {
    let scoped = name.split_once('_').map(|(scope, name)| format!("@{scope}%2f{name}"));
    let asked = scoped.iter().map(String::as_str).chain([name]);
    for name in asked {
        let Ok(answer) = ask(&format!("https://registry.npmjs.org/{name}/latest")) else { continue };
        let entry: Value = serde_json::from_slice(&answer)?;
        let (version, url) = (entry["version"].as_str(), entry["dist"]["tarball"].as_str());
        if let (Some(version), Some(url)) = (version, url) {
            return Ok(Offer { version: version.to_owned(), url: url.to_owned() });
        }
    }
    bail!("npm has no such package")
}

/// The source archive; where there is none, or a huge one, the smallest wheel.
fn pypi(name: &str) -> Result<Offer> {
    let entry: Value = serde_json::from_slice(&ask(&format!("https://pypi.org/pypi/{name}/json"))?)?;
    let files = entry["urls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let size = |file: &Value| file["size"].as_u64().unwrap_or(u64::MAX);
    let kind = |file: &Value, kind: &str| file["packagetype"] == kind && size(file) < MOST_BYTES;
    let source = files.iter().find(|file| kind(file, "sdist") && size(file) < MOST_BYTES / 4);
    let wheel = files.iter().filter(|file| kind(file, "bdist_wheel")).min_by_key(|file| size(file));
    let file = source.or(wheel).or_else(|| files.iter().find(|file| kind(file, "sdist")));
    let file = file.context("no archive of a reasonable size")?;
    let version = entry["info"]["version"].as_str().unwrap_or_default().to_owned();
    let url = file["url"].as_str().context("a file without an address")?;
    // Mirrors write addresses of their own here; the last part is the same everywhere.
    let (_, path) = url.rsplit_once("packages/").context("an address of an unknown form")?;
    Ok(Offer { version, url: format!("https://files.pythonhosted.org/packages/{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_releases_have_a_version() {
        assert_eq!(version_of("1.2.30"), Some((1, 2, 30)));
        assert_eq!(version_of("5.0.2+zstd.1.5.2"), Some((5, 0, 2)));
        for other in ["1.0.0-alpha", "1.2", "jpeg", ""] {
            assert_eq!(version_of(other), None, "{other}");
        }
    }
}
