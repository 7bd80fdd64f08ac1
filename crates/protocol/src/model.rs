//! Typed views of definitions and results.
//!
//! A view is the text that arrived plus the spans of its fields; accessors decode on demand. The text
//! stays the truth, so unknown fields survive whatever we do with the known ones.

mod definition;
mod result;

pub use definition::{InvalidItem, Item, Prompt, Resource, ResourceTemplate, Tool, list_items};
pub use result::{
    CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents,
};
