//! Finds tools by what they are wanted for.
//!
//! A [`ToolIndex`] is built from plain data about tools, so that this crate knows no MCP message and no server. A query is compared
//! with every tool by its words (BM25F over the fields of a definition, as a share of the best possible score) and by meaning (the
//! cosine of vectors of a static table of [`english`]). Tools that the query names come first, and what does not fit is not returned: five
//! wrong tools cost a model more than none. There is one formula for all queries; `docs/tool-search.md` says how well it does.

#![forbid(unsafe_code)]

pub mod english;
mod index;
mod names;
mod search;
mod tool;
pub mod words;

pub use self::{
    index::{Field, ToolIndex},
    names::NameMatch,
    search::{Explanation, FoundTools, Hit, Parts, TermScore},
    tool::ToolText,
};
