//! Ownership of files: a user who may write to a configuration decides what is run.

use std::{
    fs::Metadata,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::process::geteuid;

use crate::files::small::read_small_text;

/// Larger lists of users are not looked through.
const MAX_LIST: u64 = 4 * 1024 * 1024;

/// Why a file is not to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnershipError {
    /// It belongs to this user, who is neither we nor root.
    Owner(u32),
    /// Anyone may write to it.
    WritableByAll,
    /// Members of this group may write to it, and there may be others than we.
    WritableByGroup(u32),
}

/// Checks that only the user and root may write to a file.
pub(crate) fn judge(metadata: &Metadata) -> Result<(), OwnershipError> {
    let us = geteuid().as_raw();
    let mode = metadata.permissions().mode();
    match metadata.uid() {
        owner if owner != us && owner != 0 => Err(OwnershipError::Owner(owner)),
        _ if mode & 0o002 != 0 => Err(OwnershipError::WritableByAll),
        _ if mode & 0o020 != 0 && !is_ours_alone(metadata.gid(), us) => {
            Err(OwnershipError::WritableByGroup(metadata.gid()))
        }
        _ => Ok(()),
    }
}

fn is_ours_alone(group: u32, us: u32) -> bool {
    let list = |path: &str| read_small_text(Path::new(path), MAX_LIST).unwrap_or_default();
    is_private_group(group, us, &list("/etc/passwd"), &list("/etc/group"))
}

/// Many systems give every user a private group, and let it write to the files of the user. Where users are
/// listed elsewhere, such a group is known by its number, which is that of the user.
fn is_private_group(group: u32, us: u32, users: &str, groups: &str) -> bool {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<String>>();
    let number = |fields: &[String], index: usize| fields.get(index)?.parse::<u32>().ok();
    let users: Vec<Vec<String>> = users.lines().map(fields).collect();
    let our_name = users.iter().find(|user| number(user, 2) == Some(us)).and_then(|user| user.first());
    let is_anothers = users.iter().any(|user| number(user, 3) == Some(group) && number(user, 2) != Some(us));
    let listed = groups.lines().map(fields).find(|it| number(it, 2) == Some(group));
    let has_others = listed.as_ref().and_then(|it| it.get(3)).is_some_and(|members| {
        members.split(',').any(|member| !member.is_empty() && Some(member) != our_name.map(String::as_str))
    });
    let is_named_after_us = listed.as_ref().is_some_and(|it| it.first() == our_name && our_name.is_some());
    !is_anothers && !has_others && (is_named_after_us || group == us)
}

#[cfg(test)]
mod tests {
    use super::is_private_group;

    #[test]
    fn a_group_of_ones_own_is_known() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:100::/home/bob:/bin/sh\n\
                     eve:x:1002:100::/home/eve:/bin/sh\n";
        let groups = "root:x:0:\nann:x:1000:ann\nusers:x:100:\nbob:x:1001:eve\nstaff:x:50:\n";
        for (group, us, is_private) in [
            (1000, 1000, true),
            (0, 0, true),
            (100, 1001, false),
            (1001, 1001, false),
            (50, 1000, false),
            (1000, 1001, false),
            (5000, 5000, true),
            (5001, 5000, false),
        ] {
            assert_eq!(is_private_group(group, us, users, groups), is_private, "{group} of {us}");
        }
    }
}
