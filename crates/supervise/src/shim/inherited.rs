//! Closing what the host's program left open to its children.
//!
//! Ours are all closed on `exec`, but an embedding program, or its parent, may hold files and sockets that are
//! not, and a server must not get them.
#![expect(unsafe_code, reason = "closing a descriptor that no owner is known of")]

use std::{fs, os::fd::RawFd};

/// Closes all descriptors but the standard three.
///
/// Invariant: called first of all in a shim, when the program has opened none itself.
pub(crate) fn close() {
    let Ok(directory) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = directory.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let numbers: Vec<RawFd> = numbers.filter(|&number| number > 2).collect();
    // The directory's own number is among them, and closed by now.
    let is_open = |number: &RawFd| fs::read_link(format!("/proc/self/fd/{number}")).is_ok();
    for number in numbers.into_iter().filter(is_open) {
        // SAFETY: it is open, and nothing in this process owns it, as nothing was opened yet.
        unsafe { rustix::io::close(number) };
    }
}
