//! Typed views of what servers offer and answer.
//!
//! A view is the text that arrived plus the places of its fields; accessors decode what they are asked for. The text
//! stays the truth, so unknown fields survive whatever we do with the known ones.

mod content;
mod definition;
mod item;
mod result;

pub use content::ContentBlock;
pub use definition::{Prompt, Resource, ResourceTemplate, Tool};
pub use item::{InvalidItem, Item, list_items};
pub use result::{CallToolResult, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents};
