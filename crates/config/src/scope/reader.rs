//! Reading all files repeatedly, with the last valid content where one is broken.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use super::{Declared, Layer, Merged, Scope, ScopedFile, merge};
use crate::{
    Approvals, AuditSection, AuthSection, ConfigError, ConfigFile, HubFile, Origin, Permission,
    PolicySection, Problem, ProfileEntry, SecretCommands, WrittenServer,
};

/// Reads the files of all scopes.
///
/// A file that cannot be read or parsed changes nothing: its last valid content counts, and so for a single entry. A file that was
/// removed has no servers.
#[derive(Debug)]
pub struct ScopeReader {
    files: Vec<ScopedFile>,
    project: Option<PathBuf>,
    /// The last valid content of each file, before approvals are applied.
    last: Vec<Last>,
}

/// The last valid content of a file.
#[derive(Debug, Clone, Default)]
struct Last {
    /// Whether it was ever read, or known not to be there.
    is_known: bool,
    servers: Vec<Declared>,
    hub: HubFile,
    auth: AuthSection,
    profiles: Vec<ProfileEntry>,
    policy: PolicySection,
    audit: AuditSection,
    secret_commands: SecretCommands,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The servers that count, those of the project judged.
    pub merged: Merged,
    /// Settings of the hub itself, never a project's: a repository does not decide where the user's hub listens.
    pub hub: HubFile,
    /// Who may use the hub over HTTP, never a project's. This, `policy` and `audit` are invalid while a file is broken that was
    /// never read: it may have them.
    pub auth: AuthSection,
    /// What callers see of the hub, by names. Never a project's: a profile could show more than another.
    pub profiles: Vec<ProfileEntry>,
    /// Rules for calls, never a project's: a rule could allow what a later one denies.
    pub policy: PolicySection,
    /// What is recorded of calls, never by a project's choice.
    pub audit: AuditSection,
    /// Commands that print secrets, never a project's: a repository does not decide what runs.
    pub secret_commands: SecretCommands,
    /// Files that cannot be used now.
    pub errors: Vec<ConfigError>,
    /// Entries that cannot be used now, with their file.
    pub problems: Vec<(PathBuf, Problem)>,
    /// What is ignored, with its file.
    pub warnings: Vec<(PathBuf, Problem)>,
    /// Why servers wait that may have been approved: the file with approvals is the reason.
    pub approvals: Option<String>,
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

    /// Reads all files with `load`, which gets the origin of each.
    pub fn read(
        &mut self,
        approvals: &Approvals,
        load: impl Fn(&Path, Origin<'_>) -> Result<ConfigFile, ConfigError>,
    ) -> Reading {
        let mut reading = Reading::default();
        for (file, last) in self.files.iter().zip(&mut self.last) {
            // Without a folder there can be no approvals for it.
            let project = self.project.as_deref().or(file.path.parent()).unwrap_or(Path::new(""));
            let is_approved = |launch: &WrittenServer| approvals.is_approved(project, launch);
            let origin = match file.scope {
                Scope::Project => Origin::Project { is_approved: &is_approved },
                _ => Origin::Own,
            };
            match load(&file.path, origin) {
                Ok(found) => {
                    let path = || file.path.clone();
                    *last = Last {
                        is_known: true,
                        servers: found.declared_or(&last.servers),
                        hub: found.hub,
                        auth: found.auth,
                        profiles: valid_or(found.profiles, &last.profiles),
                        policy: match found.policy {
                            // The rules that were valid stay in effect.
                            PolicySection::Invalid if last.policy != PolicySection::Absent => {
                                last.policy.clone()
                            }
                            policy => policy,
                        },
                        audit: found.audit,
                        secret_commands: found.secret_commands,
                    };
                    reading.warnings.extend(found.ignored.into_iter().map(|problem| (path(), problem)));
                    reading.problems.extend(found.problems.into_iter().map(|problem| (path(), problem)));
                }
                Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    *last = Last { is_known: true, ..Last::default() }
                }
                Err(error) => reading.errors.push(error),
            }
        }
        let of_user = || self.files.iter().zip(&self.last).filter(|(file, _)| file.scope != Scope::Project);
        let mut hubs = of_user().map(|(_, last)| &last.hub);
        reading.hub = hubs.find(|hub| **hub != HubFile::default()).cloned().unwrap_or_default();
        let mut auths =
            of_user().map(|(_, last)| if last.is_known { &last.auth } else { &AuthSection::Invalid });
        reading.auth = auths.find(|auth| **auth != AuthSection::Absent).cloned().unwrap_or_default();
        let mut policies =
            of_user().map(|(_, last)| if last.is_known { &last.policy } else { &PolicySection::Invalid });
        reading.policy =
            policies.find(|policy| **policy != PolicySection::Absent).cloned().unwrap_or_default();
        for profile in of_user().flat_map(|(_, last)| &last.profiles) {
            if !reading.profiles.iter().any(|other| other.name() == profile.name()) {
                reading.profiles.push(profile.clone());
            }
        }
        let mut audits =
            of_user().map(|(_, last)| if last.is_known { &last.audit } else { &AuditSection::Invalid });
        reading.audit = audits.find(|audit| **audit != AuditSection::Absent).cloned().unwrap_or_default();
        // Files that count more come first.
        for (_, last) in of_user() {
            for (name, command) in &last.secret_commands {
                reading.secret_commands.entry(name.clone()).or_insert_with(|| command.clone());
            }
        }
        reading.merged = merge(self.files.iter().zip(&self.last).map(|(file, last)| {
            let mut servers = last.servers.clone();
            if file.scope == Scope::Project {
                let project = self.project.as_deref().or(file.path.parent()).unwrap_or(Path::new(""));
                for Declared { server, launch } in &mut servers {
                    server.permission = approvals.judge(project, server.permission, launch);
                }
            }
            Layer { file: file.clone(), servers }
        }));
        let merged = &reading.merged;
        let all = merged.servers.iter().chain(merged.overridden.iter().map(|other| &other.entry));
        let waits = all.into_iter().any(|placed| placed.server.permission == Permission::Pending);
        reading.approvals = approvals.problem().filter(|_| waits).map(ToString::to_string);
        reading
    }
}

/// The profiles, with the last valid version of those that cannot be used now.
fn valid_or(found: Vec<ProfileEntry>, before: &[ProfileEntry]) -> Vec<ProfileEntry> {
    let valid = |entry: ProfileEntry| match entry {
        ProfileEntry::Invalid(name) => {
            let known = before.iter().find(|known| *known.name() == name).cloned();
            known.unwrap_or(ProfileEntry::Invalid(name))
        }
        valid => valid,
    };
    found.into_iter().map(valid).collect()
}

impl ConfigFile {
    /// The servers, and those of `before` whose entries cannot be used now.
    fn declared_or(&self, before: &[Declared]) -> Vec<Declared> {
        let there: HashSet<&str> = self.servers.iter().map(|server| server.name.as_str()).collect();
        let broken: HashSet<&str> =
            self.problems.iter().filter_map(|problem| problem.server.as_deref()).collect();
        let is_kept = |name: &str| broken.contains(name) && !there.contains(name);
        let kept = before.iter().filter(|before| is_kept(before.server.name.as_str())).cloned();
        self.declared().chain(kept).collect()
    }
}
