//! Search in a tree of files: exact, as ripgrep would find it, and by meaning.
//!
//! Knows no MCP. An index narrows where to look, and results are confirmed on disk: none shows a line that is
//! not there now.

#![forbid(unsafe_code)]

pub mod chunk;
pub mod codebase;
pub mod model;
pub mod semantic;
pub mod store;
pub mod text;
pub mod tree;
pub mod words;
