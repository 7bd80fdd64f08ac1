//! Typed views of what servers offer and answer.
//!
//! A view is the text that arrived plus the places of its fields; accessors decode what they are asked for. The text
//! stays the truth, so unknown fields survive whatever we do with the known ones.

mod content;
mod item;
mod offers;
mod results;

pub use content::ContentBlock;
pub use item::{InvalidItem, Item, list_items};
pub use offers::{Prompt, Resource, ResourceTemplate, Tool};
pub use results::{CallToolResult, GetPromptResult, PromptMessage, ReadResourceResult, ResourceContents};
