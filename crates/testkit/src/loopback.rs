//! Addresses that no other test listens on.

use std::{
    net::Ipv4Addr,
    process,
    sync::atomic::{AtomicU8, Ordering},
};

/// Returns a loopback address of the caller's own.
///
/// A port of `127.0.0.1` that a test gives back is soon given to a test beside it. A test that expects a port to
/// stay closed, or to be free again later, takes one of this address.
pub fn own_loopback() -> Ipv4Addr {
    static TAKEN: AtomicU8 = AtomicU8::new(1);
    if !cfg!(target_os = "linux") {
        return Ipv4Addr::LOCALHOST; // the only one that other systems have without configuration
    }
    let [.., high, low] = process::id().to_be_bytes();
    Ipv4Addr::new(127, high.max(1), low, TAKEN.fetch_add(1, Ordering::Relaxed).max(1))
}
