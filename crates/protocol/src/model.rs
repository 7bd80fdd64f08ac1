//! Typed views of what servers offer and answer.
//!
//! A view is the text that arrived plus the places of its fields; accessors decode what they are asked for. The text
//! stays the truth, so unknown fields survive whatever we do with the known ones.

mod definition;
mod result;

pub use definition::{InvalidItem, Item, Prompt, Resource, ResourceTemplate, Tool, list_items};
pub use result::{
    CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents,
};
