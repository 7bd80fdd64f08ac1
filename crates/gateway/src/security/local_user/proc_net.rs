//! The same from `/proc/net/tcp`, where `sock_diag` is missing: some containers forbid it, some kernels lack it.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    net::{IpAddr, SocketAddr},
};

use super::SocketAddresses;

/// The user of the socket at the other end; none if it is closed or not there.
pub(super) fn uid_of(ends: SocketAddresses) -> Option<u32> {
    // A client may use a socket of IPv6 to reach an address of IPv4.
    let tables: &[&str] = if ends.peer.is_ipv4() { &["tcp", "tcp6"] } else { &["tcp6"] };
    tables.iter().find_map(|table| {
        let file = File::open(format!("/proc/net/{table}")).ok()?;
        let is_v6 = *table == "tcp6";
        let wanted = (text(ends.peer, is_v6), text(ends.local, is_v6));
        BufReader::new(file).lines().map_while(Result::ok).find_map(|line| uid(&line, &wanted))
    })
}

/// The uid in a line, if it is about the wanted connection and a process has the socket.
fn uid(line: &str, (own, other): &(String, String)) -> Option<u32> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    if fields.next()? != own || fields.next()? != other {
        return None;
    }
    let (uid, inode) = (fields.nth(4)?, fields.nth(1)?);
    if inode == "0" { None } else { uid.parse().ok() }
}

/// An address as the kernel writes it: words of 32 bits, each in the byte order of the machine.
fn text(address: SocketAddr, as_v6: bool) -> String {
    let octets = match address.ip() {
        IpAddr::V4(v4) if as_v6 => v4.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let words = octets.as_chunks().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}
