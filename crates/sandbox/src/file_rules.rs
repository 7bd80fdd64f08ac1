//! Rules for files, which the kernel applies to the calling process and all that it starts.

use std::{
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::Path,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat};

use crate::{Network, Policy, mounts, namespaces, root_directory::open_beneath};

const KNOWN: ABI = ABI::V6;

/// Applies the rules. Returns whether the kernel knows them.
pub(crate) fn apply(policy: &Policy, is_confined: bool) -> io::Result<bool> {
    let all = AccessFs::from_all(KNOWN);
    let read = AccessFs::from_read(KNOWN);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all).map_err(failed)?;
    if policy.network == Network::None && !is_confined {
        rules = rules.handle_access(AccessNet::from_all(KNOWN)).map_err(failed)?;
    }
    let rules = rules.scope(Scope::from_all(KNOWN)).and_then(Ruleset::create).map_err(failed)?;
    let mut rules = Rules(Some(rules));
    if policy.function.is_some() {
        return rules.restrict();
    }
    for path in mounts::SYSTEM.map(Path::new) {
        if !is_confined
            && namespaces::is_super_user()
            && mounts::WITH_PRIVATE_FILES.map(Path::new).contains(&path)
        {
            rules.allow_public(path, read)?;
        } else {
            rules.allow(path, read)?;
        }
    }
    for path in mounts::DEVICES {
        rules.allow(Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    if is_confined {
        // Of this namespace only.
        let home = policy.home.as_deref().filter(|home| mounts::is_replaceable(home));
        for path in
            ["/tmp", "/var/tmp", "/run", "/dev/shm", "/dev/pts"].map(Path::new).into_iter().chain(home)
        {
            rules.allow(path, all)?;
        }
        rules.allow(Path::new("/proc"), read)?;
        rules.allow(Path::new("/"), AccessFs::ReadDir.into())?;
    } else {
        hidden_is_outside(policy)?;
    }
    for (paths, access) in [(&policy.read, read), (&policy.write, all)] {
        for path in paths {
            let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            // Without following links: programs that still run could have put some there.
            if let Ok(opened) = open_beneath(root.as_fd(), path) {
                rules.add(opened, access)?;
            }
        }
    }
    rules.restrict()
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

/// Rules only ever add rights, so nothing can be hidden in a directory that may be read.
fn hidden_is_outside(policy: &Policy) -> io::Result<()> {
    let shown = |hidden: &&std::path::PathBuf| {
        hidden.exists() && policy.read.iter().chain(&policy.write).any(|given| hidden.starts_with(given))
    };
    match policy.hide.iter().find(shown) {
        Some(hidden) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("`{}` can only be hidden with user namespaces", hidden.display()),
        )),
        None => Ok(()),
    }
}

/// Rules that are being collected; none after an error.
struct Rules(Option<RulesetCreated>);

impl Rules {
    /// Applies them. Returns whether the kernel knows them.
    fn restrict(self) -> io::Result<bool> {
        let RestrictionStatus { ruleset, no_new_privs, .. } = match self.0 {
            Some(rules) => rules.restrict_self().map_err(failed)?,
            None => return Ok(false),
        };
        Ok(no_new_privs && ruleset != RulesetStatus::NotEnforced)
    }

    /// Allows something below a path. A path that does not exist is passed over.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Ok(opened) => self.add(opened, access),
            Err(_) => Ok(()),
        }
    }

    fn add(&mut self, opened: OwnedFd, access: BitFlags<AccessFs>) -> io::Result<()> {
        // Rights for directories do not apply to files.
        let is_directory = FileType::from_raw_mode(fstat(&opened)?.st_mode) == FileType::Directory;
        let access = if is_directory { access } else { access & AccessFs::from_file(KNOWN) };
        let rules = self.0.take().ok_or(io::ErrorKind::InvalidData)?;
        self.0 = Some(rules.add_rule(PathBeneath::new(opened, access)).map_err(failed)?);
        Ok(())
    }

    /// Allows to read what every user may read. Returns whether that is everything, which one rule can then say.
    fn allow_public(&mut self, directory: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        if !has_private_files(directory) {
            return self.allow(directory, access);
        }
        self.allow(directory, AccessFs::ReadDir.into())?;
        for entry in fs::read_dir(directory)?.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() && !mounts::is_private(found.permissions().mode()) {
                self.allow_public(&entry.path(), access)?;
            } else if found.is_file() && !mounts::is_private(found.permissions().mode()) {
                self.allow(&entry.path(), access)?;
            }
        }
        Ok(())
    }
}

fn has_private_files(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        entry.metadata().is_ok_and(|found| {
            let is_private = mounts::is_private(found.permissions().mode());
            (found.is_file() && is_private)
                || (found.is_dir() && (is_private || has_private_files(&entry.path())))
        })
    })
}
