//! Namespaces and capabilities of the calling process.

use std::{fs, io};

use rustix::{
    process::{getegid, geteuid},
    thread::{
        CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
        configure_capability_in_ambient_set, set_capabilities, set_no_new_privs,
    },
};

use crate::{Network, raw_calls::unshare};

/// The user that the super-user is in the namespace, so that programs lose all capabilities when they start.
const UNPRIVILEGED: u32 = 1000;

/// What init needs to build its file system.
const OF_INIT: CapabilitySet =
    CapabilitySet::SYS_ADMIN.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::DAC_OVERRIDE);

/// Enters a user namespace and those that need one. The next process that is started is process 1 of its namespace.
///
/// It keeps the capabilities that it needs to go on across `exec`.
pub(crate) fn enter(network: Network) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let inside = |id: u32| if id == 0 { UNPRIVILEGED } else { id };
    let mut flags =
        UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if network == Network::None {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags)?;
    // Groups cannot be dropped in the namespace, which would give access to files that a group is denied.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", inside(user)))?;
    fs::write("/proc/self/gid_map", format!("{} {group} 1", inside(group)))?;
    let held = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: OF_INIT, ..held })?;
    for capability in OF_INIT.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Enters a mount namespace.
pub(crate) fn enter_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)
}

/// Whether the user outside of the namespace is the super-user, who owns the files of the system.
pub(crate) fn is_super_user() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let inside = geteuid().as_raw().to_string();
    map.lines().any(|line| {
        let mut fields = line.split_whitespace();
        fields.next() == Some(inside.as_str()) && fields.next() == Some("0") || geteuid().is_root()
    })
}

/// Gives up all capabilities for good. Not even a program of the super-user gets any back when it is started.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
