//! `get_tool_details`: whole definitions of tools that are not listed.

use serde::Deserialize;
use toolbay_protocol::{ObjectBuilder, Request, Tier};

use super::{HubTool, ToolAnswer};
use crate::request::{call::FinalResponse, client::RequestClient};

/// How many definitions one call gets.
const MAX_NAMES: usize = 20;

pub(super) const DEFINITION: &str = r#"{"name":"get_tool_details","description":"Descriptions and schemas of tools","inputSchema":{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":["names"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

#[derive(Debug, Deserialize)]
struct Arguments {
    names: WantedNames,
}

/// Models also write a single name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WantedNames {
    Several(Vec<String>),
    One(String),
}

pub(super) fn answer(client: &RequestClient, request: &Request) -> FinalResponse {
    let arguments = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    let answer = match serde_json::from_str::<Arguments>(arguments) {
        Ok(Arguments { names: WantedNames::Several(names) }) => details(client, &names),
        Ok(Arguments { names: WantedNames::One(name) }) => details(client, &[name]),
        Err(why) => ToolAnswer::failed(format!("the arguments do not fit: {why}")),
    };
    answer.response(client, request)
}

fn details(client: &RequestClient, names: &[String]) -> ToolAnswer {
    let table = client.host.table();
    let (mut tools, mut unknown) = (Vec::new(), Vec::new());
    for name in names.iter().take(MAX_NAMES) {
        let known = table.listed_tool(name).and_then(|listed| Some((listed, listed.tool()?)));
        match known {
            Some((listed, tool)) => {
                let mut details = ObjectBuilder::new().string("name", &listed.name);
                details = details.string("server", listed.server.as_str());
                details = details.string("call_with", HubTool::CallTool(Tier::of(&tool)).name());
                for field in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
                    if let Some(raw) = tool.item().raw(field) {
                        details = details.raw(field, raw);
                    }
                }
                tools.push(details.finish());
            }
            None => unknown.push(name.as_str()),
        }
    }
    if tools.is_empty() {
        let similar: Vec<&str> = unknown.iter().flat_map(|name| table.similar_tools(name)).take(5).collect();
        let hint = match similar[..] {
            [] => "search_tools finds names".to_owned(),
            _ => format!("did you mean {}?", similar.join(", ")),
        };
        return ToolAnswer::failed(format!("no such tool: {}; {hint}", unknown.join(", ")));
    }
    let mut text = tools.join("\n");
    if !unknown.is_empty() {
        text.push_str(&format!("\nNo such tool: {}", unknown.join(", ")));
    }
    if names.len() > MAX_NAMES {
        text.push_str(&format!("\nOnly {MAX_NAMES} of {} names were looked up.", names.len()));
    }
    let structured = ObjectBuilder::new()
        .array("tools", tools.iter().map(String::as_str))
        .value("unknown", &unknown)
        .finish();
    ToolAnswer { text, structured: Some(structured), is_error: false }
}
