//! Servers that ask in the middle of a call, of either era, with clients of either era.

pub(crate) mod across_revisions; // a client of one era, a server of the other
pub(crate) mod server; // servers that ask what they are told to ask
mod suspended; // what may happen to a call that waits
