//! Long results of tools: kept in files for a while, so that clients can read all of them.

mod store;

pub use store::{ReadError, ResultLink, ResultStore, ResultWriter, SCHEME, read_page};
