//! Reading all files again and again, with what was right before where one is broken.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Layer, Merged, Scope, ScopedFile, merge};
use crate::{Approvals, ConfigError, ConfigFile, HubFile, Problem, ServerConfig};

/// Reads the files of all scopes.
///
/// A file that cannot be read or understood changes nothing: what it said last counts, and so for a single entry. One
/// that is gone says nothing any more.
#[derive(Debug)]
pub struct ScopeReader {
    files: Vec<ScopedFile>,
    project: Option<PathBuf>,
    /// What each file said last, not judged.
    last: Vec<Last>,
}

/// What a file said when it was last right.
#[derive(Debug, Clone, Default)]
struct Last {
    servers: Vec<ServerConfig>,
    hub: HubFile,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The servers that count, those of the project judged.
    pub merged: Merged,
    /// Settings of the hub itself. Never a project's: a repository has no say in where the user's hub listens.
    pub hub: HubFile,
    /// Files that cannot be used now.
    pub errors: Vec<ConfigError>,
    /// Entries that cannot be used now, with their file.
    pub problems: Vec<(PathBuf, Problem)>,
    /// What is ignored, with its file.
    pub warnings: Vec<(PathBuf, Problem)>,
}

impl ScopeReader {
    /// For these files; `project` is the folder whose servers must be approved.
    pub fn new(files: Vec<ScopedFile>, project: Option<PathBuf>) -> Self {
        let last = vec![Last::default(); files.len()];
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
                    let path = || file.path.clone();
                    reading.warnings.extend(file.ignored(&found).map(|problem| (path(), problem)));
                    *last = Last { servers: found.servers_or(&last.servers), hub: found.hub };
                    reading.problems.extend(found.problems.into_iter().map(|problem| (path(), problem)));
                }
                Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    *last = Last::default()
                }
                Err(error) => reading.errors.push(error),
            }
        }
        let of_user = self.files.iter().zip(&self.last).filter(|(file, _)| file.scope != Scope::Project);
        let mut hubs = of_user.map(|(_, last)| &last.hub);
        reading.hub = hubs.find(|hub| **hub != HubFile::default()).cloned().unwrap_or_default();
        reading.merged = merge(self.files.iter().zip(&self.last).map(|(file, last)| {
            let mut servers = last.servers.clone();
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

impl ScopedFile {
    /// What the file says that is ignored because of whose file it is.
    pub fn ignored(&self, file: &ConfigFile) -> Option<Problem> {
        let place = file.hub_place.filter(|_| self.scope == Scope::Project)?;
        let message = "`[hub]` is ignored in the file of a project; it belongs in your own toolbay.toml";
        Some(Problem { server: None, message: message.to_owned(), place })
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
