//! Reading and editing JSON as text, without building a tree.

pub(crate) mod fields;
pub(crate) mod id_recovery;
pub(crate) mod keys;
pub(crate) mod object_builder;
pub(crate) mod rope;
pub(crate) mod scanner;
pub(crate) mod simd;
pub(crate) mod splice;
pub(crate) mod string;
