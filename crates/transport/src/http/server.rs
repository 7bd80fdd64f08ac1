//! Accepting HTTP connections, with limits.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod limits;
pub(crate) mod tls;
pub(crate) mod upgrade;
