//! A folder with all that describes servers: manifests of extensions, entries of the registry, unpacked bundles.

use std::{fs, io, path::Path, sync::Arc};

use serde_json::Value;
use toolbay_config::read_small_text;

use crate::{Bundle, Described, DescriptorError, Descriptors, read_manifest, read_server_json};

/// A larger file describes nothing.
const MAX_FILE: u64 = 4 << 20;

impl Descriptors {
    /// Reads a folder; one that is missing is empty. What cannot be used takes nothing from the rest.
    pub fn in_folder(folder: &Path) -> (Self, Vec<DescriptorError>) {
        let (mut descriptors, mut problems) = (Self::default(), Vec::new());
        let mut entries: Vec<_> = match fs::read_dir(folder) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return (descriptors, vec![broken(folder, &error)]),
        };
        // Of two with one id the first counts, on every machine the same.
        entries.sort();
        for path in entries {
            let described = match () {
                () if path.is_dir() => Bundle::open(&path)
                    .map(|bundle| Described { sources: vec![Arc::new(bundle)], problems: Vec::new() }),
                () if path.extension().is_some_and(|extension| extension == "json") => read(&path),
                () => continue,
            };
            match described {
                Ok(described) => {
                    problems.extend(described.problems);
                    let added = described.sources.into_iter().map(|source| descriptors.add(source));
                    problems.extend(added.filter_map(Result::err));
                }
                Err(problem) => problems.push(problem),
            }
        }
        (descriptors, problems)
    }
}

fn read(path: &Path) -> Result<Described, DescriptorError> {
    let text = read_small_text(path, MAX_FILE).map_err(|error| broken(path, &error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| broken(path, &error))?;
    match value.get("context_servers") {
        Some(_) => read_manifest(&path.file_stem().unwrap_or_default().to_string_lossy(), &text),
        None => read_server_json(&text),
    }
}

fn broken(path: &Path, why: &dyn std::fmt::Display) -> DescriptorError {
    DescriptorError::Broken { id: path.display().to_string(), message: why.to_string() }
}
