//! One request of a client, from its arrival to its response.

pub(crate) mod call;
pub(crate) mod client;
pub(crate) mod local;
pub(crate) mod revision;
pub(crate) mod serve;
pub(crate) mod stored_result;
pub(crate) mod subscription;
