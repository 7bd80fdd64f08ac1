//! What the server offers.

use bytes::Bytes;
use serde_json::{Map, json};
use toolbay_protocol::model::{InvalidItem, Item, Prompt, Resource, ResourceTemplate, Tool, list_items};
use toolbay_upstream::CatalogKind;

use super::Client;
use crate::{Error, call::CallEngine};

/// A server with more pages than this has no end.
const MAX_PAGES: usize = 100;

/// Both ways to a list: asking the server, and what is known already.
macro_rules! lists {
    ($($list:ident, $cached:ident, $item:ident, $kind:ident, $what:literal;)*) => {
        impl Client {
            $(
                #[doc = concat!("Asks the server for its ", $what, ", over all pages.")]
                ///
                /// # Errors
                ///
                /// When the server does not answer, or with something that is no such list.
                pub async fn $list(&self) -> Result<Vec<$item>, Error> {
                    self.list(CatalogKind::$kind, $item::parse).await
                }

                #[doc = concat!("The server's ", $what, " as they were listed last. They are kept up to date for as long as")]
                /// the server announces changes.
                pub fn $cached(&self) -> Vec<$item> {
                    self.cached(CatalogKind::$kind, $item::parse)
                }
            )*
        }
    };
}

lists! {
    list_tools, cached_tools, Tool, Tools, "tools";
    list_resources, cached_resources, Resource, Resources, "resources";
    list_resource_templates, cached_resource_templates, ResourceTemplate, ResourceTemplates, "resource templates";
    list_prompts, cached_prompts, Prompt, Prompts, "prompts";
}

impl Client {
    async fn list<T>(
        &self,
        kind: CatalogKind,
        read: impl Fn(Bytes) -> Result<T, InvalidItem>,
    ) -> Result<Vec<T>, Error> {
        let running = self.running()?;
        let server = running.handle.name().clone();
        let exchange = CallEngine { line: &*running, sender: &self.sender, server: server.clone() };
        let unusable = |reason: String| Error::protocol(&server, format!("{}: {reason}", kind.list_method()));
        let work = async {
            let (mut all, mut params) = (Vec::new(), Map::new());
            for _ in 0..MAX_PAGES {
                let result = exchange.run(kind.list_method(), params).await?;
                let page = Item::parse(result.into()).map_err(|error| unusable(error.to_string()))?;
                let list = page.span(kind.field()).map(|span| page.text().slice(span.range()));
                let list = list.ok_or_else(|| unusable("there is no list in it".into()))?;
                for item in list_items(&list).map_err(|error| unusable(error.to_string()))? {
                    all.push(read(item).map_err(|error| unusable(error.to_string()))?);
                }
                match page.string("nextCursor") {
                    Some(cursor) => params = Map::from_iter([("cursor".to_owned(), json!(cursor))]),
                    None => return Ok(all),
                }
            }
            Err(unusable(format!("it has more than {MAX_PAGES} pages")))
        };
        self.sender.within(kind.list_method(), work).await
    }

    fn cached<T>(&self, kind: CatalogKind, read: impl Fn(Bytes) -> Result<T, InvalidItem>) -> Vec<T> {
        let Some(status) = self.status() else { return Vec::new() };
        status.catalog.list(kind).iter().filter_map(|item| read(item.clone()).ok()).collect()
    }
}
