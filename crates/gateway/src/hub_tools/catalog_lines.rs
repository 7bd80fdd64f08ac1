//! What the instructions for models say about tools that are not listed.

use toolbay_access::Access;
use toolbay_host::{Host, ListedTool};

use super::exposure::Listing;
use crate::gateway::Gateway;

/// How long it may be: some clients read no more of the instructions.
const MAX_LENGTH: usize = 2048;
/// How much of that the lines of one server may take.
const MAX_LINE: usize = 240;

impl Gateway {
    /// What is hidden from a client and why, how it is found, and a line for each server; nothing where everything is listed.
    pub(crate) fn catalog_lines(&self, host: &Host, access: &Access, listing: &Listing) -> Option<String> {
        let table = host.table();
        let tools = table.listed_tools();
        let options = self.exposure_of(access);
        let mut text = match listing {
            Listing::Everything => return None,
            Listing::Deferred => String::from("# toolbay\n\nTools of these servers:"),
            Listing::Search(why) => {
                let hidden = tools.iter().filter(|tool| !options.is_always_listed(tool)).count();
                format!(
                    "# toolbay\n\n{hidden} of {} tools are not listed, because {why}. Find them with search_tools. Call them by \
                     name, or with call_tool (read-only), call_tool_write or call_tool_destructive.",
                    tools.len()
                )
            }
        };
        let servers = by_server(tools);
        for (index, (server, names)) in servers.iter().enumerate() {
            let line = line(server, names);
            let rest = format!("\n- and {} more servers", servers.len() - index);
            if text.len() + line.len() + rest.len() > MAX_LENGTH {
                text.push_str(&rest);
                break;
            }
            text.push_str(&line);
        }
        Some(text)
    }

    /// Says in the log what is hidden from a client, unless that was said last.
    pub(crate) fn log_listing(&self, host: &Host, access: &Access, listing: &Listing, client: Option<&str>) {
        let Listing::Search(why) = listing else { return };
        let table = host.table();
        let tools = table.listed_tools();
        let options = self.exposure_of(access);
        let is_hidden = |tool: &&ListedTool| !options.is_always_listed(tool);
        let hidden = tools.iter().filter(is_hidden).count();
        let client = client.unwrap_or("clients");
        let line = format!("{hidden} of {} tools are hidden from {client}: {why}", tools.len());
        let mut logged = self.hub_tools.logged.lock();
        if *logged != line {
            tracing::info!("{line}");
            *logged = line;
        }
    }
}

fn by_server(tools: &[ListedTool]) -> Vec<(&str, Vec<&str>)> {
    let mut servers: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in tools {
        let server = tool.server.as_str();
        match servers.iter_mut().find(|(name, _)| *name == server) {
            Some((_, names)) => names.push(&tool.bare_name),
            None => servers.push((server, vec![&tool.bare_name])),
        }
    }
    servers
}

/// `- github, 40 tools: create_issue, get_issue, …`: the names alone, because what servers say of themselves may be anything.
fn line(server: &str, names: &[&str]) -> String {
    let mut line = format!("\n- {server}, {} tools: ", names.len());
    for (index, name) in names.iter().enumerate() {
        if line.len() + name.len() > MAX_LINE {
            line.push('…');
            break;
        }
        line.push_str(if index > 0 { ", " } else { "" });
        line.push_str(name);
    }
    line
}
