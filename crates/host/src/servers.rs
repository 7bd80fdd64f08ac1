//! The configured servers and their state.

pub(crate) mod auth;
pub(crate) mod instances;
pub(crate) mod launch;
pub(crate) mod registry;
pub(crate) mod secrets;
pub(crate) mod state;
