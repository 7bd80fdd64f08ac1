//! Everything that all servers offer, as one list.

use bytes::Bytes;
use toolbay_protocol::view::{NotAnItem, Prompt, Resource, ResourceTemplate, Tool, list_items};
use toolbay_upstream::Kind;

use crate::{Host, Table};

impl Host {
    /// The tools of all servers that are up now, under the names that the host has for them.
    pub fn all_tools(&self) -> Vec<Tool> {
        items(&self.table(), Kind::Tools, Tool::parse)
    }

    /// The resources of all servers that are up now.
    pub fn all_resources(&self) -> Vec<Resource> {
        items(&self.table(), Kind::Resources, Resource::parse)
    }

    /// The resource templates of all servers that are up now.
    pub fn all_templates(&self) -> Vec<ResourceTemplate> {
        items(&self.table(), Kind::ResourceTemplates, ResourceTemplate::parse)
    }

    /// The prompts of all servers that are up now, under the names that the host has for them.
    pub fn all_prompts(&self) -> Vec<Prompt> {
        items(&self.table(), Kind::Prompts, Prompt::parse)
    }
}

/// All items of a list, over all its pages. Only what can be read is in the table.
fn items<T>(table: &Table, kind: Kind, read: impl Fn(Bytes) -> Result<T, NotAnItem>) -> Vec<T> {
    let mut all = Vec::new();
    let mut cursor = None;
    while let Some((page, next)) = table.page(kind, cursor.as_deref()) {
        all.extend(list_items(page).unwrap_or_default().into_iter().filter_map(|item| read(item).ok()));
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    all
}
