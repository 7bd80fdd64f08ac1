//! Reading all files again and again, with what was right before where one is broken.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Layer, Merged, Scope, ScopedFile, merge};
use crate::{Approvals, ConfigError, ConfigFile, Problem, ServerConfig};

/// Reads the files of all scopes.
///
/// A file that cannot be read or understood changes nothing: what it said last counts, and so for a single entry. One
/// that is gone says nothing any more.
#[derive(Debug)]
pub struct ScopeReader {
    files: Vec<ScopedFile>,
    project: Option<PathBuf>,
    /// What each file said last, not judged.
    last: Vec<Vec<ServerConfig>>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The servers that count, those of the project judged.
    pub merged: Merged,
    /// Files that cannot be used now.
    pub errors: Vec<ConfigError>,
    /// Entries that cannot be used now, with their file.
    pub problems: Vec<(PathBuf, Problem)>,
}

impl ScopeReader {
    /// For these files; `project` is the folder whose servers must be approved.
    pub fn new(files: Vec<ScopedFile>, project: Option<PathBuf>) -> Self {
        let last = vec![Vec::new(); files.len()];
        Self { files, project, last }
    }

    /// The files, for [watching](crate::watch_files).
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Reads all files with `load`.
    pub fn read(
        &mut self,
        approvals: &Approvals,
        load: impl Fn(&Path) -> Result<ConfigFile, ConfigError>,
    ) -> Reading {
        let mut reading = Reading::default();
        for (file, last) in self.files.iter().zip(&mut self.last) {
            match load(&file.path) {
                Ok(found) => {
                    *last = found.servers_or(last);
                    let path = || file.path.clone();
                    reading.problems.extend(found.problems.into_iter().map(|problem| (path(), problem)));
                }
                Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    last.clear()
                }
                Err(error) => reading.errors.push(error),
            }
        }
        reading.merged = merge(self.files.iter().zip(&self.last).map(|(file, servers)| {
            let mut servers = servers.clone();
            if file.scope == Scope::Project {
                // Without a folder nobody can have approved of anything in it.
                let project = self.project.as_deref().or(file.path.parent()).unwrap_or(Path::new(""));
                servers.iter_mut().for_each(|server| approvals.judge(project, server));
            }
            Layer { file: file.clone(), servers }
        }));
        reading
    }
}

impl ConfigFile {
    /// The servers, and those of `before` whose entries cannot be used now.
    fn servers_or(&self, before: &[ServerConfig]) -> Vec<ServerConfig> {
        let is_there = |name: &str| self.servers.iter().any(|server| server.name.as_str() == name);
        let is_broken = |name: &str| {
            self.problems.iter().any(|problem| problem.server.as_deref() == Some(name)) && !is_there(name)
        };
        let kept = before.iter().filter(|server| is_broken(server.name.as_str()));
        self.servers.iter().chain(kept).cloned().collect()
    }
}
