//! The file with the approvals.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::files::{
    ownership::{self, OwnershipError},
    replace::{self, beside},
    small::SmallFile,
};

/// A larger file was not written by us.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// How the file is laid out.
const VERSION: u32 = 2;

/// Verdicts by project and server.
pub(super) type Projects = BTreeMap<String, BTreeMap<String, Record>>;

/// The decision about one launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) decision: ApprovalDecision,
    /// The hash of the launch.
    pub(super) hash: String,
    /// That launch in lines, without secrets.
    pub(super) launch: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ApprovalDecision {
    Approved,
    Rejected,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalFile {
    version: u32,
    projects: Projects,
}

/// Of a file whose layout is not known, this is.
#[derive(Deserialize)]
struct AnyVersion {
    version: u32,
}

/// Why approvals cannot be read or kept. Whatever cannot be read approves of nothing.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The file cannot be read.
    #[error("cannot read the approvals {}, so nothing is approved: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file is invalid.
    #[error("the approvals {} are invalid ({message}), so nothing is approved; approving again rewrites them", path.display())]
    Broken { path: PathBuf, message: String },
    /// The file was written when approvals bound less.
    #[error("the approvals {} were given when less of an entry was shown, so nothing is approved; please approve again", path.display())]
    Outdated { path: PathBuf },
    /// Others could approve in the user's name.
    #[error("the approvals {0} are writable by others, so nothing is approved; try: chmod 600 {0}", path.display())]
    WritableByOthers { path: PathBuf },
    /// Another user approved in this user's name.
    #[error("the approvals {} belong to another user ({uid}), so nothing is approved", path.display())]
    ForeignOwner { path: PathBuf, uid: u32 },
    /// The file cannot be written.
    #[error("cannot write the approvals {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Reads the file; a missing file has no approvals.
pub(super) fn read(path: &Path) -> Result<Projects, ApprovalError> {
    let unreadable = |source| ApprovalError::Read { path: path.to_owned(), source };
    let broken = |message| ApprovalError::Broken { path: path.to_owned(), message };
    let file = match SmallFile::open(path, MAX_FILE) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Projects::new()),
        Err(error) => return Err(unreadable(error)),
    };
    match ownership::judge(file.metadata()) {
        Err(OwnershipError::Owner(uid)) => {
            return Err(ApprovalError::ForeignOwner { path: path.to_owned(), uid });
        }
        // We write it for its owner alone, so even a group of one's own is a sign.
        _ if file.metadata().permissions().mode() & 0o022 != 0 => {
            return Err(ApprovalError::WritableByOthers { path: path.to_owned() });
        }
        _ => {}
    }
    let text = file.read_to_string().map_err(unreadable)?;
    let version =
        serde_json::from_str::<AnyVersion>(&text).map_err(|error| broken(error.to_string()))?.version;
    match version {
        VERSION => {}
        older if older < VERSION => return Err(ApprovalError::Outdated { path: path.to_owned() }),
        newer => return Err(broken(format!("unknown version {newer}"))),
    }
    let file: ApprovalFile = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
    Ok(file.projects)
}

/// Changes the file under a lock, and returns its new content. An invalid file is kept beside the new one.
pub(super) fn change(path: &Path, edit: impl FnOnce(&mut Projects)) -> Result<Projects, ApprovalError> {
    let unwritable = |source| ApprovalError::Write { path: path.to_owned(), source };
    let _lock = replace::lock_file(path).map_err(unwritable)?;
    let mut projects = match read(path) {
        Ok(projects) => projects,
        Err(error @ (ApprovalError::Read { .. } | ApprovalError::Write { .. })) => return Err(error),
        Err(
            ApprovalError::Broken { .. }
            | ApprovalError::Outdated { .. }
            | ApprovalError::ForeignOwner { .. }
            | ApprovalError::WritableByOthers { .. },
        ) => {
            fs::rename(path, beside(path, ".broken")).map_err(unwritable)?;
            Projects::new()
        }
    };
    edit(&mut projects);
    projects.retain(|_, servers| !servers.is_empty());
    let file = ApprovalFile { version: VERSION, projects };
    let text = serde_json::to_string_pretty(&file).map_err(|error| unwritable(error.into()))?;
    replace::write_private(path, text.as_bytes()).map_err(unwritable)?;
    Ok(file.projects)
}
