//! Descriptors after many runs.

use std::process::Command;

use crate::support::*;

/// In a process of its own, as the other tests open descriptors all the time.
#[test]
#[expect(clippy::disallowed_methods, reason = "a host is no server: it is what supervises")]
fn fifty_servers_at_once_leave_no_descriptor_and_see_none_of_each_other() {
    let output = Command::new(HOST).arg("many").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    // Of its four, the last is the directory it lists.
    assert_eq!(told, "a server sees [0, 1, 2, 3]\nleft: 0\n", "{}", String::from_utf8_lossy(&output.stderr));
}
