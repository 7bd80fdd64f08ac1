//! Where a hub is told to listen.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

/// One `--listen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listen {
    /// HTTP on an address.
    Http(SocketAddr),
    /// One message per line on a Unix socket.
    Unix(PathBuf),
}

impl Listen {
    pub(crate) const DEFAULT: &str = "127.0.0.1:4100";
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("a path must follow `unix:`".to_owned())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let address = text.parse().map_err(|_| "it must be ADDR:PORT or unix:PATH".to_owned())?;
        Ok(Self::Http(address))
    }
}
