//! Configured servers: finding, describing and editing them.

pub(crate) mod describe;
pub(crate) mod edit;
pub(crate) mod files;
pub(crate) mod report;
pub(crate) mod target;
pub(crate) mod unset;
