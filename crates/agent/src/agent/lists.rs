//! Everything that all servers offer, as one list.

use bytes::Bytes;
use toolbay_host::{CatalogKind, RouteTable};
use toolbay_protocol::model::{InvalidItem, Prompt, Resource, ResourceTemplate, Tool, list_items};

use crate::Agent;

impl Agent {
    /// The tools of all servers that are up now, under the names that the host has for them.
    pub fn all_tools(&self) -> Vec<Tool> {
        items(&self.host().table(), CatalogKind::Tools, Tool::parse)
    }

    /// The resources of all servers that are up now.
    pub fn all_resources(&self) -> Vec<Resource> {
        items(&self.host().table(), CatalogKind::Resources, Resource::parse)
    }

    /// The resource templates of all servers that are up now.
    pub fn all_templates(&self) -> Vec<ResourceTemplate> {
        items(&self.host().table(), CatalogKind::ResourceTemplates, ResourceTemplate::parse)
    }

    /// The prompts of all servers that are up now, under the names that the host has for them.
    pub fn all_prompts(&self) -> Vec<Prompt> {
        items(&self.host().table(), CatalogKind::Prompts, Prompt::parse)
    }
}

/// All items of a list, over all its pages. Only what can be read is in the table.
fn items<T>(table: &RouteTable, kind: CatalogKind, read: impl Fn(Bytes) -> Result<T, InvalidItem>) -> Vec<T> {
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
