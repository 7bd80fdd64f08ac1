//! Scopes: where configuration files are, and which entry counts.

mod merge;
mod reader;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

pub use merge::{Declared, Layer, Merged, Overridden, OverrideReason, Placed, merge};
pub use reader::{Reading, ScopeReader};

/// Where an entry comes from. Of two with the same name, that of the smaller scope counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The administrator of the machine.
    Managed,
    /// The user, for this run or this copy of a project.
    Local,
    /// The project, and so everyone who can write to its repository.
    Project,
    /// The user, everywhere.
    User,
    /// An extension or the registry.
    Extension,
    /// Another program's configuration, found.
    Discovered,
}

/// A file, whether it is there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopedFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is.
    pub path: PathBuf,
}

/// The user's own file, in the folder where programs keep their configurations.
pub fn user_file(config_dir: &Path) -> PathBuf {
    config_dir.join("toolbay/toolbay.toml")
}

/// The files that a project may bring, the first of which counts.
pub fn project_files(project: &Path) -> [PathBuf; 3] {
    ["toolbay.toml", ".toolbay/toolbay.toml", ".mcp.json"].map(|name| project.join(name))
}

/// The folder of the project that a folder belongs to: the nearest one, from there upwards, with a file of a project in it. It is
/// looked for up to the repository, the file system or the home that the folder is in; without any, it is the folder itself.
pub fn find_project(folder: &Path, home: Option<&Path>) -> PathBuf {
    let device = |folder: &Path| fs::metadata(folder).map(|metadata| metadata.dev()).ok();
    let is_home = |folder: &Path| home.is_some_and(|home| is_same(home, folder));
    let here = device(folder);
    for above in folder.ancestors() {
        let is_beyond = above.parent().is_none() || is_home(above) || device(above) != here;
        if above != folder && is_beyond {
            break;
        }
        // Whatever it is: an unusable file is reported, not skipped.
        if project_files(above).iter().any(|file| file.symlink_metadata().is_ok()) {
            return above.to_owned();
        }
        if is_beyond || above.join(".git").exists() {
            break;
        }
    }
    folder.to_owned()
}

/// All files to read and to watch, those that count first.
pub fn scoped_files(config_dir: Option<&Path>, project: Option<&Path>) -> Vec<ScopedFile> {
    let user = config_dir.map(user_file);
    let mut files: Vec<ScopedFile> = project
        .into_iter()
        .flat_map(project_files)
        // A user who works in the folder of their own configuration need not approve it.
        .filter(|path| user.as_ref().is_none_or(|user| !is_same(user, path)))
        .map(|path| ScopedFile { scope: Scope::Project, path })
        .collect();
    files.extend(user.map(|path| ScopedFile { scope: Scope::User, path }));
    files
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
