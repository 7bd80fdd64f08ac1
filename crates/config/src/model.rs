//! Configured servers: as written in a file, and as checked.

pub(crate) mod built_in;
mod credentials;
pub(crate) mod duration;
pub(crate) mod oauth;
pub(crate) mod secret_text;
pub(crate) mod server;
pub(crate) mod written;
