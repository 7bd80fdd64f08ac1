//! Namespaces of the calling process.

#![expect(unsafe_code, reason = "entering namespaces; file descriptors stay as they are")]

use std::{fs, io};

use rustix::{
    process::{getegid, geteuid},
    thread::{
        CapabilitySet, CapabilitySets, UnshareFlags, capabilities, clear_ambient_capability_set,
        configure_capability_in_ambient_set, set_capabilities, unshare_unsafe,
    },
};

use crate::Network;

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
    // SAFETY: none of the flags is `FILES`, the only one that concerns file descriptors.
    unsafe { unshare_unsafe(flags) }?;
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
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(())
}

/// Gives up all capabilities, so that the program has none.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
