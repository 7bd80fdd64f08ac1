//! Which addresses may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses may be connected to. What counts is the address that a connection goes to, not the name of its host: a name
/// can mean another address whenever it is resolved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// All of them.
    #[default]
    Any,
    /// Those of the public Internet: not this machine, not its networks, not the metadata services of clouds.
    Public,
}

/// A host was not connected to because of its address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{host} resolves to {address}, which is not a public address")]
pub struct PrivateAddress {
    /// The host.
    pub host: String,
    /// Its address, or one of them.
    pub address: IpAddr,
}

/// Fails if one of the addresses of a host is not public.
pub(super) fn refuse_private(
    host: &str,
    addresses: impl IntoIterator<Item = IpAddr>,
) -> Result<(), PrivateAddress> {
    match addresses.into_iter().find(|address| !is_public(*address)) {
        Some(address) => Err(PrivateAddress { host: host.to_owned(), address }),
        None => Ok(()),
    }
}

/// Ranges of IPv4 that are not public, each with the length of its prefix. IANA's registry of special-purpose addresses.
const NOT_PUBLIC: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10), // shared address space, where some clouds have their metadata
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16), // link-local, where most clouds have their metadata
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4), // multicast
    ([240, 0, 0, 0], 4),
    ([255, 255, 255, 255], 32),
];

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_in = |(network, prefix): &([u8; 4], u32)| {
        let mask = u32::MAX << (32 - prefix);
        address.to_bits() & mask == u32::from_be_bytes(*network)
    };
    !NOT_PUBLIC.iter().any(is_in)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, fourth, fifth, sixth, ..] = address.segments();
    // An address that carries one of IPv4 leads there.
    let carried = Ipv4Addr::from_bits(address.to_bits() as u32);
    match (first, second) {
        (0, 0) if [third, fourth, fifth] == [0; 3] && (sixth == 0xffff || sixth == 0) => {
            sixth == 0xffff && is_public_v4(carried) // mapped; `::`, `::1` and the deprecated compatible ones are not public
        }
        (0x64, 0xff9b) if [third, fourth, fifth, sixth] == [0; 4] => is_public_v4(carried), // NAT64
        // 6to4 carries its address right behind the prefix.
        (0x2002, _) => false,
        (0x2001, second) => second >= 0x200 && second != 0xdb8, // Teredo, ORCHID, benchmarks, documentation
        // Of all others, 2000::/3 is the part that is in use.
        (first, _) => first & 0xe000 == 0x2000 && first != 0x3fff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        let parse = |address: &str| address.parse().unwrap_or_else(|_| panic!("{address}"));
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(parse(address)), "{address}");
        }
        for address in [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.1.0.1",
            "198.20.0.1",
            "223.255.255.254",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:4860:4860::8888",
            "2606:4700::1111",
        ] {
            assert!(is_public(parse(address)), "{address}");
        }
    }
}
