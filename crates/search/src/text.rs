//! Exact search: what ripgrep finds, looked for only where it can be.
//!
//! ```text
//! pattern ─→ plan (trigrams that a match must have) ─→ candidates ─┐
//! files changed since they were indexed, or never indexed ─────────┴→ ripgrep's own engine ─→ hits
//! ```
//!
//! The index leaves out files in which no match can be; all others are read now, by the parts ripgrep is made of. So an index
//! that is old, incomplete or missing costs time and never a result.

mod collect;
mod index;
mod merge;
mod plan;
mod postings;
mod query;
mod reader;
mod scan;
mod segment;
mod trigrams;
mod update;
mod view;

pub use index::{Index, SearchError};
pub use query::{Case, Hit, Line, PatternError, Query, Results, Total};
pub use update::{UpdateError, UpdateProgress, UpdateReport};

/// Files larger than this are not in the index: they are searched each time, as ripgrep does. An index of a file that size
/// excludes little (it has nearly every trigram), and one that grows, a log for example, would be indexed over and over.
pub const INDEXED_SIZE: u64 = 256 << 20;
