//! The network interface of a network namespace that has no other.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

/// Brings the loopback interface up, so that programs in the namespace reach each other.
///
/// A new namespace has the interface, always with number 1, but does not use it. The request is the kernel's `RTM_NEWLINK`.
pub(crate) fn bring_up() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut request = Vec::new();
    request.extend(32_u32.to_ne_bytes()); // length of all
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    request.extend(1_u32.to_ne_bytes()); // number of the request
    request.extend(0_u32.to_ne_bytes()); // sender: the kernel fills it in
    request.extend([0, 0, 0, 0]); // any family, any type
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(UP.to_ne_bytes()); // flags
    request.extend(UP.to_ne_bytes()); // which flags change

    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&socket, &request, SendFlags::empty())?;
    let mut response = [0; 512];
    let (length, _) = recv(&socket, &mut response[..], RecvFlags::empty())?;
    // An acknowledgment has the negative number of the error, or 0, after its header.
    let code = response[..length].get(16..20).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
    match code {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}
