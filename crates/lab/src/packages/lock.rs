//! Which packages, and exactly which version of each.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result};

/// Where one package is, and what must arrive from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) version: String,
    pub(crate) url: String,
    /// SHA-256 in hexadecimal digits.
    pub(crate) sha256: String,
}

/// A list of packages (`language/name` in each line, sorted) pinned: a line each, the fields separated by tabs.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    pub(crate) packages: BTreeMap<String, Pinned>,
}

impl Lock {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut packages = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let &[name, version, url, sha256] = fields.as_slice() else {
                anyhow::bail!("{}: not name, version, address and checksum: {line}", path.display());
            };
            let pinned = Pinned { version: version.into(), url: url.into(), sha256: sha256.into() };
            packages.insert(name.to_owned(), pinned);
        }
        Ok(Self { packages })
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut text = "# package, version, address, SHA-256\n".to_owned();
        for (name, Pinned { version, url, sha256 }) in &self.packages {
            writeln!(text, "{name}\t{version}\t{url}\t{sha256}")?;
        }
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
