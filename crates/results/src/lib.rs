//! Long results of tools.
//!
//! A result that is longer than a client should get is [cut](cut()): its beginning and its end stay, the whole goes to a
//! [`ResultStore`], where its owner can read it [in parts](read_part) for a while.

#![forbid(unsafe_code)]

mod cut;
mod read;
mod store;

pub use cut::{CutOptions, SchemaCheck, cut};
pub use read::{PartRequest, ReadError, ResultPart, read_page, read_part};
pub use store::{LazyResultStore, ResultFormat, ResultLink, ResultStore, ResultWriter, SCHEME, StoredResult};
