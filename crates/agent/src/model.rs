//! What servers offer, and what is in their results.

pub use toolbay_protocol::model::{
    ContentBlock, Prompt, PromptMessage, Resource, ResourceContents, ResourceTemplate, Tool as ToolDefinition,
};
pub use toolbay_upstream::CatalogKind;
