//! The audit log of a hub, as its configuration says.

use std::{path::PathBuf, sync::Arc};

use toolbay_audit::{AuditLog, AuditSettings, OnFailure};
use toolbay_config::{AuditFailure, AuditFile, AuditSection};
use toolbay_control::Note;

use crate::app::{context::Context, error::CliError, hub::HubPlan};

/// The size at which another file is begun.
const MAX_SIZE: u64 = 64 * 1024 * 1024;
/// How many files are kept beside the current one.
const KEEP: usize = 10;
/// What notes about it are said to be about.
const SUBJECT: &str = "audit";

/// The audit log of a hub, or why there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct HubAudit {
    pub(crate) log: Option<Arc<AuditLog>>,
    /// Why it could not be opened, where that does not matter.
    failure: Option<Arc<str>>,
}

impl HubAudit {
    /// Opens the log that the configuration asks for.
    pub(crate) fn open(context: &Context, plan: &HubPlan) -> Result<Self, CliError> {
        let Some(file) = enabled(&plan.audit)? else { return Ok(Self::default()) };
        // One set of files per hub: hubs with other files do not wait for each other.
        let name = context.env.socket_dirs().place(&plan.identity.files).name().to_owned();
        let on_failure = match file.on_failure {
            AuditFailure::Block => OnFailure::Block,
            AuditFailure::Warn => OnFailure::Warn,
        };
        let settings = AuditSettings {
            folder: folder(context, &plan.audit)?,
            name: name.replace('.', "-"),
            arguments: file.arguments,
            fsync: file.fsync,
            max_size: file.max_size.unwrap_or(MAX_SIZE),
            keep: file.keep.unwrap_or(KEEP),
            on_failure,
        };
        match (AuditLog::open(settings), on_failure) {
            (Ok(log), _) => Ok(Self { log: Some(Arc::new(log)), failure: None }),
            (Err(error), OnFailure::Block) => Err(error.into()),
            (Err(error), OnFailure::Warn) => {
                let failure = format!("calls are not recorded: {error}");
                context.out.warn(&failure);
                Ok(Self { log: None, failure: Some(failure.into()) })
            }
        }
    }

    /// What the status says about it.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let note = |text: String| Note { server: SUBJECT.to_owned(), text };
        let mut notes: Vec<Note> = self.failure.iter().map(|failure| note(failure.to_string())).collect();
        let Some(log) = &self.log else { return notes };
        let state = log.state();
        if let Some(failure) = state.failure {
            let effect = match log.settings().on_failure {
                OnFailure::Block => "calls are refused",
                OnFailure::Warn => "calls are not recorded",
            };
            notes.push(note(format!("{effect}: {failure}")));
        }
        if state.lost > 0 {
            notes.push(note(format!("{} calls were not recorded", state.lost)));
        }
        notes
    }
}

/// The settings of `[audit]`, if calls are recorded.
fn enabled(audit: &AuditSection) -> Result<Option<&AuditFile>, CliError> {
    match audit {
        AuditSection::Absent => Ok(None),
        AuditSection::Valid(audit) => Ok(Some(&**audit).filter(|audit| audit.enabled != Some(false))),
        AuditSection::Invalid => Err(CliError::Usage {
            message: "`[audit]` has errors or cannot be read, and calls would not be recorded without it"
                .to_owned(),
            hint: Some("`toolbay config check` shows them".to_owned()),
        }),
    }
}

/// The directory of the files.
pub(crate) fn folder(context: &Context, audit: &AuditSection) -> Result<PathBuf, CliError> {
    let written = match audit {
        AuditSection::Valid(audit) => audit.path.clone(),
        AuditSection::Absent | AuditSection::Invalid => None,
    };
    let folder = written.or_else(|| context.env.audit());
    folder.ok_or_else(|| {
        CliError::usage("there is no place for the audit log; set HOME, or `path` in `[audit]`")
    })
}
