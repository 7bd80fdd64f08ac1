//! Servers as configured: what a file wrote, and what it comes to.

pub(crate) mod built_in;
pub(crate) mod duration;
pub(crate) mod server;
pub(crate) mod written;
