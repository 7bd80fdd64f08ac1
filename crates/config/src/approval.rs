//! Which servers that came with a project may run.
//!
//! A cloned repository must not start programs. So an entry of a project may not run until the user approved exactly
//! that launch in exactly that folder; whatever changes about it later requires a new approval. A launch is an entry as
//! it is written, with absolute paths: `launch_text` decides what is bound of it.

mod file;
mod launch_text;

use std::path::{Path, PathBuf};

pub use file::ApprovalError;
pub use launch_text::{DiffLine, line_diff};

use crate::{Permission, WrittenServer};
use file::{ApprovalDecision, Projects, Record};
use launch_text::LaunchText;

/// The user's decisions about the servers of projects.
///
/// Reading and writing take as long as a small file takes; another process that writes at the same time is waited for.
#[derive(Debug)]
pub struct Approvals {
    path: PathBuf,
    projects: Projects,
    problem: Option<ApprovalError>,
}

/// The decision about a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// It may run.
    Approved,
    /// It may not.
    Rejected,
    /// There is a decision about another launch under this name.
    Changed,
    /// There is no decision.
    Unknown,
}

impl Approvals {
    /// Reads the file. One that is missing approves of nothing, and so does one that cannot be trusted or understood;
    /// [`problem`](Self::problem) has the reason then.
    pub fn load(path: &Path) -> Self {
        match file::read(path) {
            Ok(projects) => Self { path: path.to_owned(), projects, problem: None },
            Err(problem) => Self { path: path.to_owned(), projects: Projects::new(), problem: Some(problem) },
        }
    }

    /// Why nothing is approved, if the file is the reason.
    pub fn problem(&self) -> Option<&ApprovalError> {
        self.problem.as_ref()
    }

    /// The decision about this launch in this project.
    pub fn verdict(&self, project: &Path, launch: &WrittenServer) -> ApprovalState {
        match self.record(project, launch) {
            None => ApprovalState::Unknown,
            Some(record) if record.hash != LaunchText::of(launch).hash() => ApprovalState::Changed,
            Some(Record { decision: ApprovalDecision::Approved, .. }) => ApprovalState::Approved,
            Some(Record { decision: ApprovalDecision::Rejected, .. }) => ApprovalState::Rejected,
        }
    }

    /// Whether exactly this launch was approved in this project.
    pub fn is_approved(&self, project: &Path, launch: &WrittenServer) -> bool {
        self.verdict(project, launch) == ApprovalState::Approved
    }

    /// The permission of a server of a project: pending until it is approved, disabled if it was rejected.
    pub fn judge(&self, project: &Path, permission: Permission, launch: &WrittenServer) -> Permission {
        if permission == Permission::Disabled {
            return permission;
        }
        match self.verdict(project, launch) {
            ApprovalState::Approved => Permission::Enabled,
            ApprovalState::Rejected => Permission::Disabled,
            ApprovalState::Changed | ApprovalState::Unknown => Permission::Pending,
        }
    }

    /// Lets this launch run in this project.
    ///
    /// # Errors
    ///
    /// When it cannot be written down; it is not approved then.
    pub fn approve(&mut self, project: &Path, launch: &WrittenServer) -> Result<(), ApprovalError> {
        self.store(project, launch, ApprovalDecision::Approved)
    }

    /// Keeps this launch from running in this project, without asking again until it changes.
    ///
    /// # Errors
    ///
    /// When it cannot be written down.
    pub fn reject(&mut self, project: &Path, launch: &WrittenServer) -> Result<(), ApprovalError> {
        self.store(project, launch, ApprovalDecision::Rejected)
    }

    /// Removes the decision about the server of this name. Returns whether there was one.
    ///
    /// # Errors
    ///
    /// When it cannot be written down.
    pub fn forget(&mut self, project: &Path, server: &str) -> Result<bool, ApprovalError> {
        let key = key(project);
        let mut was_there = false;
        self.projects = file::change(&self.path, |projects| {
            was_there = projects.get_mut(&key).is_some_and(|servers| servers.remove(server).is_some());
        })?;
        self.problem = None;
        Ok(was_there)
    }

    /// Compares this launch with the one that was decided on; all lines are [`DiffLine::Added`] when there is none.
    /// Secrets are not shown.
    pub fn diff(&self, project: &Path, launch: &WrittenServer) -> Vec<DiffLine> {
        let now = LaunchText::of(launch);
        let Some(record) = self.record(project, launch) else {
            return line_diff(&[], &now.lines);
        };
        let mut lines = line_diff(&record.launch, &now.lines);
        let all_same = lines.iter().all(|line| matches!(line, DiffLine::Same(_)));
        if all_same && now.hash() != record.hash {
            lines.push(DiffLine::HiddenChange);
        }
        lines
    }

    fn record(&self, project: &Path, launch: &WrittenServer) -> Option<&Record> {
        self.projects.get(&key(project))?.get(&launch.name)
    }

    fn store(
        &mut self,
        project: &Path,
        launch: &WrittenServer,
        decision: ApprovalDecision,
    ) -> Result<(), ApprovalError> {
        let mut text = LaunchText::of(launch);
        let lines = std::mem::take(&mut text.lines);
        let record = Record { decision, hash: text.hash(), launch: lines };
        self.projects = file::change(&self.path, |projects| {
            projects.entry(key(project)).or_default().insert(launch.name.clone(), record);
        })?;
        self.problem = None;
        Ok(())
    }
}

/// One name per folder, however it was reached.
fn key(project: &Path) -> String {
    let folder = project
        .canonicalize()
        .or_else(|_| std::path::absolute(project))
        .unwrap_or_else(|_| project.to_owned());
    // A name that is no text is escaped, which no two names share.
    folder.to_str().map_or_else(|| format!("{folder:?}"), str::to_owned)
}
