//! The list of tools of clients that are not listed all of them as they are.

use bytes::Bytes;
use serde_json::{Map, Value};
use toolbay_host::{ListPages, ListedTool, RouteTable};
use toolbay_protocol::{Rope, model::Item};

use super::{HubTool, exposure::Listing};
use crate::{gateway::Gateway, request::client::RequestClient};

/// Read by clients that defer tools: what the tool is found by, besides its name and description.
const SEARCH_HINT: &str = "anthropic/searchHint";
/// Read by clients that defer tools: whether they never defer this one.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";
/// How long a search hint may be.
const MAX_HINT: usize = 120;

impl Gateway {
    /// The list of tools for a client; none where it is the list of the table.
    pub(crate) fn tools_for(&self, client: &RequestClient, table: &RouteTable) -> Option<ListPages> {
        let limits_results = self.limits_results(table);
        if limits_results {
            // The client may call it from now on.
            self.hub_tools.switch_on();
        }
        if !self.hub_tools.is_on() {
            return None;
        }
        let listing = self.listing_for(client);
        let hub_tools = self.hub_tools.listed_for(&listing, limits_results);
        if listing == Listing::Everything && hub_tools.is_empty() {
            return None;
        }
        let is_on_http = client.revision.features().has_mirrored_headers() && client.is_on_http;
        let definition = |tool: &ListedTool| tool.definition_on(is_on_http).clone();
        let is_free = |tool: &&ListedTool| !hub_tools.iter().any(|ours| ours.name() == tool.name);
        let own = hub_tools.iter().map(|tool| Rope::from(Bytes::from_static(tool.definition().as_bytes())));
        let options = self.exposure_of(&client.access);
        let tools = table.listed_tools().iter().filter(is_free);
        let items: Vec<Rope> = match &listing {
            Listing::Everything => tools.map(|tool| definition(tool).into()).chain(own).collect(),
            Listing::Deferred => {
                let hinted = tools.map(|tool| hinted(tool, definition(tool), options.is_always_listed(tool)));
                hinted.chain(own).collect()
            }
            Listing::Search(_) => {
                let always: Vec<&ListedTool> = tools.filter(|tool| options.is_always_listed(tool)).collect();
                // Behind all others and in the order in which they came, so that what a model has read stays as it was.
                let activated =
                    client.session.as_ref().map(|session| session.activated()).unwrap_or_default();
                let activated = activated.iter().filter_map(|name| table.listed_tool(name));
                let activated = activated
                    .filter(|tool| is_free(tool) && !always.iter().any(|listed| listed.name == tool.name));
                let activated: Vec<Rope> = activated.map(|tool| definition(tool).into()).collect();
                always.iter().map(|tool| definition(tool).into()).chain(own).chain(activated).collect()
            }
        };
        Some(ListPages::new(items.into_iter()))
    }

    /// The tools of servers that have the name of a tool of the hub, with their servers.
    pub fn names_taken(&self) -> Vec<(String, &'static str)> {
        if !self.hub_tools.is_on() {
            return Vec::new();
        }
        let table = self.host.table();
        let taken = HubTool::ALL.into_iter().filter_map(|tool| {
            let taken = table.listed_tools().iter().find(|listed| listed.name == tool.name())?;
            Some((taken.server.as_str().to_owned(), tool.name()))
        });
        taken.collect()
    }
}

/// A definition with hints for clients that defer tools. What a server says there itself is not passed on: it would put its tools
/// before those of others.
fn hinted(tool: &ListedTool, definition: Bytes, is_always_listed: bool) -> Rope {
    let Ok(item) = Item::parse(definition.clone()) else { return definition.into() };
    let mut meta: Map<String, Value> =
        item.raw("_meta").and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
    meta.remove(ALWAYS_LOAD);
    meta.insert(SEARCH_HINT.to_owned(), search_hint(tool, &item).into());
    if is_always_listed {
        meta.insert(ALWAYS_LOAD.to_owned(), true.into());
    }
    item.with_field("_meta", &Value::Object(meta).to_string())
}

/// The server, and the words of the names of the tool and its parameters.
fn search_hint(tool: &ListedTool, item: &Item) -> String {
    let schema: Value =
        item.raw("inputSchema").and_then(|schema| serde_json::from_str(schema).ok()).unwrap_or_default();
    let parameters = schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
    let title = item.string("title").unwrap_or_default();
    let texts =
        [tool.server.as_str(), &tool.name, &title].map(str::to_owned).into_iter().chain(parameters.cloned());
    let mut words: Vec<String> = Vec::new();
    let mut length = 0;
    for text in texts {
        let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
        for word in parts.map(str::to_lowercase) {
            if !words.contains(&word) && length + word.len() < MAX_HINT {
                length += word.len() + 1;
                words.push(word);
            }
        }
    }
    words.join(" ")
}
