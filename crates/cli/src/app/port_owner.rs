//! The process that listens on an address which is in use.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

/// A process that has an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortOwner {
    pub(crate) pid: u32,
    pub(crate) program: String,
}

/// The state of a socket that listens, as `/proc/net/tcp` writes it.
const LISTEN: &str = "0A";

impl PortOwner {
    /// Finds the process that listens on `address`. Those of other users are not visible.
    pub(crate) fn of(address: SocketAddr) -> Option<Self> {
        let tables =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        let sockets: Vec<String> = tables
            .iter()
            .flat_map(|table| table.lines().skip(1))
            .filter_map(|line| listener(line, address))
            .map(|inode| format!("socket:[{inode}]"))
            .collect();
        let processes = fs::read_dir("/proc").ok()?.flatten();
        processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find_map(|pid: u32| {
            let folder = Path::new("/proc").join(pid.to_string());
            let mut files = fs::read_dir(folder.join("fd")).ok()?.flatten();
            let has_it = files.any(|file| {
                let target = fs::read_link(file.path()).unwrap_or_default();
                sockets.iter().any(|socket| Path::new(socket) == target)
            });
            let program = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            has_it.then(|| Self { pid, program: program.trim().to_owned() })
        })
    }

    /// Whether it is a hub like us.
    pub(crate) fn is_hub(&self) -> bool {
        self.program == env!("CARGO_PKG_NAME")
    }
}

impl std::fmt::Display for PortOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.pid, self.program)
    }
}

/// The inode of the socket in a line of `/proc/net/tcp`, if it listens where we cannot because of it.
fn listener(line: &str, wanted: SocketAddr) -> Option<&str> {
    let mut fields = line.split_whitespace();
    let (ip, port) = fields.nth(1)?.split_once(':')?;
    let (state, inode) = (fields.nth(1)?, fields.nth(5)?);
    let ip = address(ip)?;
    let collides = ip == wanted.ip() || ip.is_unspecified() || wanted.ip().is_unspecified();
    let is_it = state == LISTEN && u16::from_str_radix(port, 16).ok()? == wanted.port() && collides;
    is_it.then_some(inode)
}

/// An address as the kernel writes it: words of 32 bits, each in the order of the machine.
fn address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(8 * index)?);
            }
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_listening_process_is_found_in_both_families() {
        for wanted in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(socket) = TcpListener::bind(wanted) else { continue }; // a machine without IPv6
            let holder = PortOwner::of(socket.local_addr().unwrap()).unwrap();
            assert_eq!(holder.pid, std::process::id(), "{wanted}");
            assert!(!holder.is_hub());
            drop(socket);
        }
    }

    #[test]
    fn a_free_address_has_no_owner() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(PortOwner::of(free), None);
    }
}
