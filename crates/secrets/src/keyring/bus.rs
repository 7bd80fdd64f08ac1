//! Where the session bus is.

use std::fmt;

/// The address of a D-Bus session bus on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusAddress(String);

impl BusAddress {
    /// The first Unix socket of a `DBUS_SESSION_BUS_ADDRESS`, if it has one. Other addresses leave the machine or start programs.
    pub fn from_variable(value: &str) -> Option<Self> {
        let is_socket = |address: &&str| address.starts_with("unix:");
        value.split(';').map(str::trim).find(is_socket).map(|address| Self(address.to_owned()))
    }

    /// The bus that systemd runs for a user, whose address need not be in the environment.
    pub fn of_user(uid: u32) -> Self {
        Self(format!("unix:path=/run/user/{uid}/bus"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_of_this_machine_are_addresses() {
        let address = |value| BusAddress::from_variable(value).map(|address| address.to_string());
        assert_eq!(address("unix:path=/a").as_deref(), Some("unix:path=/a"));
        assert_eq!(address("tcp:host=x;unix:abstract=/b,guid=1").as_deref(), Some("unix:abstract=/b,guid=1"));
        for value in ["", "autolaunch:", "unixexec:path=/bin/sh", "tcp:host=x,port=1"] {
            assert_eq!(address(value), None, "{value}");
        }
        assert_eq!(BusAddress::of_user(1000).as_str(), "unix:path=/run/user/1000/bus");
    }
}
