//! Asks the kernel (`man 7 sock_diag`) which user created the socket with these two addresses.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{SOCK_DIAG, SocketAddrNetlink},
    recv, sendto, socket_with,
};

use super::SocketAddresses;

const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;
const RESPONSE: usize = HEADER + 72;

const NLMSG_ERROR: u16 = 2;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;

/// The user of the socket at the other end; none if it is closed.
pub(super) fn uid_of(ends: SocketAddresses) -> io::Result<Option<u32>> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    sendto(&socket, &request(ends), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    // The kernel answers within the call that sends. Only an unsolicited message is longer than what is read here.
    let mut response = [0; RESPONSE];
    let (length, _) = recv(&socket, &mut response, RecvFlags::DONTWAIT)?;
    read(&response[..length], ends)
}

/// `nlmsghdr` and `inet_diag_req_v2`, in the byte order of the machine but for addresses and ports.
fn request(ends: SocketAddresses) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[0..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    let body = &mut bytes[HEADER..];
    body[0] = if ends.peer.is_ipv4() { AF_INET } else { AF_INET6 };
    body[1] = IPPROTO_TCP;
    body[4..8].copy_from_slice(&u32::MAX.to_ne_bytes()); // in whatever state
    body[8..44].copy_from_slice(&socket_id(ends));
    body[48..56].fill(0xff); // no cookie
    bytes
}

/// The ports and addresses of an `inet_diag_sockid`, seen from the other end, whose own address comes first.
fn socket_id(ends: SocketAddresses) -> [u8; 36] {
    let mut id = [0; 36];
    let mut put = |address: SocketAddr, port: usize, ip: usize| {
        id[port..port + 2].copy_from_slice(&address.port().to_be_bytes());
        match address.ip() {
            IpAddr::V4(v4) => id[ip..ip + 4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => id[ip..ip + 16].copy_from_slice(&v6.octets()),
        }
    };
    put(ends.peer, 0, 4);
    put(ends.local, 2, 20);
    id
}

/// `nlmsghdr` and either `nlmsgerr` or `inet_diag_msg`.
fn read(response: &[u8], ends: SocketAddresses) -> io::Result<Option<u32>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let word = |at: usize| -> io::Result<u32> {
        let bytes = response.get(at..at + 4).ok_or_else(malformed)?;
        Ok(u32::from_ne_bytes(bytes.try_into().map_err(|_| malformed())?))
    };
    match (word(4)? & 0xffff) as u16 {
        NLMSG_ERROR => Err(io::Error::from_raw_os_error((word(HEADER)? as i32).wrapping_neg())),
        SOCK_DIAG_BY_FAMILY => {
            let ports = response.get(HEADER + 4..HEADER + 8).ok_or_else(malformed)?;
            let (uid, inode) = (word(HEADER + 64)?, word(HEADER + 68)?);
            // Where there is no such connection any more, the kernel names a socket that listens on its port; and one that its
            // process has closed has the uid of root, but no inode.
            let is_it = ports == &socket_id(ends)[..4] && inode != 0;
            Ok(is_it.then_some(uid))
        }
        _ => Err(malformed()),
    }
}
