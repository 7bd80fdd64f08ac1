//! Where a hub listens.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

/// The address for HTTP unless another is given.
pub(crate) const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 4100));
