//! Rules for files, which the kernel applies to the calling process and all that it starts.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};

use crate::{Network, Policy, mounts};

const KNOWN: ABI = ABI::V6;

/// Applies the rules. Returns whether the kernel knows them.
pub(crate) fn apply(policy: &Policy, is_confined: bool) -> Result<bool, RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let read = AccessFs::from_read(KNOWN);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    if policy.network == Network::None && !is_confined {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut rules = rules.scope(Scope::from_all(KNOWN))?.create()?;
    for path in mounts::SYSTEM {
        rules = allow(rules, Path::new(path), read)?;
    }
    for path in mounts::DEVICES {
        rules = allow(rules, Path::new(path), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    if is_confined {
        // Of this namespace only.
        for path in ["/tmp", "/var/tmp", "/run", "/dev/shm", "/dev/pts"] {
            rules = allow(rules, Path::new(path), all)?;
        }
        rules = allow(rules, Path::new("/proc"), read | AccessFs::WriteFile)?;
        rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    }
    for path in &policy.read {
        rules = allow(rules, path, read)?;
    }
    for path in &policy.write {
        rules = allow(rules, path, all)?;
    }
    let RestrictionStatus { ruleset, no_new_privs, .. } = rules.restrict_self()?;
    Ok(no_new_privs && ruleset != RulesetStatus::NotEnforced)
}

/// Allows something below a path. A path that does not exist is passed over.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(rules) };
    // Rights for directories do not apply to files.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(opened, access))
}
