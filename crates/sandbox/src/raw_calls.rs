//! System calls that `rustix` has not, or has only as unsafe functions.

#![expect(unsafe_code, reason = "system calls without a safe function")]

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
};

use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Moves the calling process, which has one thread, into new namespaces.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: only `FILES` concerns file descriptors, and no caller passes it.
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

/// Makes sure that no program that is started gets a file that this one inherited, but the standard three.
pub(crate) fn close_inherited_on_exec() -> io::Result<()> {
    let (first, last, flags) = (3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: nothing is closed now, so every owner of a descriptor still has it.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Takes the right to write from a tree of mounts that is not attached yet, and what set-user-ID bits and devices give.
pub(crate) fn make_read_only(tree: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the kernel reads the empty path and the attributes, whose size is given, during the call only.
    let done = unsafe {
        let path = c"".as_ptr();
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            path,
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
