//! Schemas of tools in the forms that model APIs and clients accept, and arguments back from them.

#![forbid(unsafe_code)]

mod inline;
mod openapi;
mod plain;
mod strict;
mod view;

pub use openapi::openapi;
pub use plain::with_plain_top;
pub use strict::{strict, without_added_nulls};
pub use view::{RepairedSchema, SchemaView};
