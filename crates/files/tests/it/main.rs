//! Tests of the crate from outside.

mod allowed;
mod races;
