//! `search_tools`: finds tools by what they are wanted for.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolbay_code::{ToolSignature, declarations};
use toolbay_host::{ListedTool, RouteTable};
use toolbay_protocol::{ObjectBuilder, Request, Tier};
use toolbay_toolsearch::{FoundTools, ToolIndex, ToolText};

use super::{
    HubTool, HubToolCall, ToolAnswer,
    exposure::Listing,
    signature::{first_line, parameters, signature},
};
use crate::{
    error,
    gateway::Gateway,
    request::{call::FinalResponse, client::RequestClient},
};

/// How many tools a search returns where it does not say.
const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 50;
/// How many queries one call may have.
const MAX_QUERIES: usize = 8;
/// How many bytes of a query count.
const MAX_QUERY: usize = 1024;
/// With more tools, the index is built on a thread of its own: it takes about 50 ms for a thousand.
const BUILT_AT_ONCE: usize = 50;

pub(super) const DEFINITION: &str = r#"{"name":"search_tools","description":"Find tools that are not listed, by what they do","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"One task per line, or select:NAME,NAME"},"limit":{"type":"integer","default":5},"server":{"type":"string"},"detail":{"enum":["signature","schema","typescript"]}},"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}"#;

#[derive(Debug, Deserialize)]
struct Arguments {
    query: Queries,
    limit: Option<usize>,
    server: Option<String>,
    #[serde(default)]
    detail: Detail,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Queries {
    Lines(String),
    Several(Vec<String>),
}

/// How much of a tool is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detail {
    #[default]
    Signature,
    Schema,
    /// As code of `run_code` calls it.
    Typescript,
}

/// A tool that was found.
struct FoundTool<'a> {
    tool: &'a ListedTool,
    score: f32,
}

/// What one query found.
struct QueryAnswer<'a> {
    query: String,
    hits: Vec<FoundTool<'a>>,
    total: usize,
    unmatched_terms: Vec<String>,
    is_doubtful: bool,
}

pub(super) fn answer(gateway: &Arc<Gateway>, client: &RequestClient, request: &Arc<Request>) -> HubToolCall {
    let raw = request.call.param("arguments").map_or("{}", |span| request.call.raw(span));
    let arguments: Arguments = match serde_json::from_str(raw) {
        Ok(arguments) => arguments,
        Err(why) => {
            let failed = ToolAnswer::failed(format!("the arguments do not fit: {why}"));
            return HubToolCall::Answered(failed.response(client, request));
        }
    };
    let running = match client.session.as_ref().map(|session| session.enter(&request.id)).transpose() {
        Ok(running) => running,
        Err(why) => {
            return HubToolCall::Answered(FinalResponse::error(Some(&request.id), &error::not_entered(why)));
        }
    };
    let (gateway, client, request) = (gateway.clone(), client.clone(), request.clone());
    HubToolCall::Soon(Box::pin(async move {
        let table = client.host.table();
        let index = index(&table).await;
        let answer = search(&gateway, &client, &table, &index, &arguments);
        drop(running);
        answer.response(&client, &request)
    }))
}

/// The index of the tools of a table, which is built once.
async fn index(table: &Arc<RouteTable>) -> Arc<ToolIndex> {
    if let Some(index) = table.tools_derived::<ToolIndex>() {
        return index;
    }
    let build = |table: &RouteTable| {
        let text = |tool: &ListedTool| {
            let definition = std::str::from_utf8(&tool.definition).unwrap_or_default();
            let text = ToolText::from_definition(&tool.name, tool.server.as_str(), definition);
            ToolText { bare_name: tool.bare_name.clone(), ..text }
        };
        ToolIndex::new(table.listed_tools().iter().map(text))
    };
    let built = if table.listed_tools().len() <= BUILT_AT_ONCE {
        build(table)
    } else {
        let table = table.clone();
        match tokio::task::spawn_blocking(move || build(&table)).await {
            Ok(built) => built,
            Err(error) => {
                tracing::error!(%error, "cannot build the index of tools");
                ToolIndex::new([])
            }
        }
    };
    table.set_tools_derived(Arc::new(built))
}

fn search(
    gateway: &Gateway,
    client: &RequestClient,
    table: &RouteTable,
    index: &ToolIndex,
    arguments: &Arguments,
) -> ToolAnswer {
    let queries: Vec<&str> = match &arguments.query {
        Queries::Lines(lines) => lines.lines().collect(),
        Queries::Several(queries) => queries.iter().map(String::as_str).collect(),
    };
    let queries = queries.into_iter().map(str::trim).filter(|query| !query.is_empty());
    let queries: Vec<&str> = queries.map(|query| &query[..query.floor_char_boundary(MAX_QUERY)]).collect();
    if queries.is_empty() {
        return ToolAnswer::failed("`query` says nothing: describe what is to be done");
    }
    if let Some(server) = &arguments.server
        && !table.listed_tools().iter().any(|tool| tool.server.as_str() == server)
    {
        let mut servers: Vec<&str> = table.listed_tools().iter().map(|tool| tool.server.as_str()).collect();
        servers.dedup();
        return ToolAnswer::failed(format!(
            "no server `{server}` with tools; there are: {}",
            servers.join(", ")
        ));
    }
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let answers: Vec<QueryAnswer<'_>> = queries
        .iter()
        .take(MAX_QUERIES)
        .map(|query| {
            let FoundTools { hits, total, unmatched_terms, is_doubtful } =
                index.search(query, limit, arguments.server.as_deref());
            let listed = |hit: toolbay_toolsearch::Hit| FoundTool {
                tool: &table.listed_tools()[hit.tool],
                score: hit.score,
            };
            let hits: Vec<FoundTool<'_>> = hits.into_iter().map(listed).collect();
            let is_doubtful = is_doubtful && !hits.is_empty();
            QueryAnswer { query: (*query).to_owned(), hits, total, unmatched_terms, is_doubtful }
        })
        .collect();
    if let (Some(session), Listing::Search(_)) = (&client.session, gateway.listing_for(client)) {
        let found = answers.iter().flat_map(|answer| &answer.hits).map(|hit| hit.tool);
        let options = gateway.exposure_of(&client.access);
        let hidden = found.filter(|tool| !options.is_always_listed(tool));
        session.activate(hidden.map(|tool| tool.name.as_str()));
    }
    let mut text = answers
        .iter()
        .map(|answer| answer.text(table, answers.len() > 1, arguments.detail))
        .collect::<Vec<_>>()
        .join("\n");
    if answers.iter().any(|answer| !answer.hits.is_empty()) {
        text.push_str("\nCall a tool by its name, or through the tool in brackets.");
    }
    ToolAnswer { text, structured: Some(structured(&answers, arguments.detail)), is_error: false }
}

impl QueryAnswer<'_> {
    fn text(&self, table: &RouteTable, is_one_of_several: bool, detail: Detail) -> String {
        let mut lines = Vec::new();
        if is_one_of_several {
            lines.push(format!("{}:", self.query));
        }
        if detail == Detail::Typescript && !self.hits.is_empty() {
            lines.push(typescript(table, self.hits.iter().map(|hit| hit.tool)));
        }
        for hit in self.hits.iter().filter(|_| detail != Detail::Typescript) {
            let Some(tool) = hit.tool.tool() else { continue };
            lines.push(format!("{} [{}]", signature(&tool), HubTool::CallTool(Tier::of(&tool)).name()));
            if detail == Detail::Schema {
                lines.push(tool.input_schema().unwrap_or("{}").to_owned());
            }
        }
        if self.hits.is_empty() {
            lines.push("No tool fits.".to_owned());
        } else {
            let doubt = if self.is_doubtful { " None stands out." } else { "" };
            lines.push(format!("{} of {} that fit.{doubt}", self.hits.len(), self.total));
        }
        if !self.unmatched_terms.is_empty() {
            lines.push(format!("In no tool: {}", self.unmatched_terms.join(", ")));
        }
        lines.join("\n")
    }
}

/// Tools as code of `run_code` calls them.
fn typescript<'a>(table: &RouteTable, tools: impl Iterator<Item = &'a ListedTool>) -> String {
    struct Definition<'a> {
        server: &'a str,
        name: String,
        description: Option<String>,
        input: Value,
        output: Option<Value>,
    }
    let parse = |schema: &str| serde_json::from_str(schema).unwrap_or_default();
    let definitions: Vec<Definition<'_>> = tools
        .filter_map(|listed| {
            let tool = listed.tool()?;
            let name = table.tool(&listed.name)?.name_at_server(&listed.name)?.into_owned();
            Some(Definition {
                server: listed.server.as_str(),
                name,
                description: tool.description().map(|description| first_line(&description)),
                input: tool.input_schema().map(parse).unwrap_or_default(),
                output: tool.item().raw("outputSchema").map(parse),
            })
        })
        .collect();
    declarations(definitions.iter().map(|definition| ToolSignature {
        server: definition.server,
        name: &definition.name,
        description: definition.description.as_deref(),
        input_schema: &definition.input,
        output_schema: definition.output.as_ref(),
    }))
}

/// Every tool once, at the place of its first query.
fn structured(answers: &[QueryAnswer<'_>], detail: Detail) -> String {
    let (mut tools, mut names, mut unmatched_terms) = (Vec::new(), Vec::new(), Vec::new());
    for answer in answers {
        for hit in &answer.hits {
            let Some(tool) = hit.tool.tool() else { continue };
            if names.contains(&&hit.tool.name) {
                continue;
            }
            names.push(&hit.tool.name);
            let mut found = ObjectBuilder::new()
                .string("name", &hit.tool.name)
                .string("server", hit.tool.server.as_str())
                .string("description", &first_line(&tool.description().unwrap_or_default()))
                .string("parameters", &parameters(&tool))
                .value("score", &((hit.score * 1000.0).round() / 1000.0))
                .string("call_with", HubTool::CallTool(Tier::of(&tool)).name());
            if detail == Detail::Schema {
                found = found.raw("inputSchema", tool.input_schema().unwrap_or("{}"));
            }
            tools.push(found.finish());
        }
        unmatched_terms.extend(
            answer.unmatched_terms.iter().filter(|term| !unmatched_terms.contains(term)).collect::<Vec<_>>(),
        );
    }
    let total: usize = answers.iter().map(|answer| answer.total).sum();
    let mut found = ObjectBuilder::new()
        .array("tools", tools.iter().map(String::as_str))
        .value("total", &total)
        .value("unmatched_terms", &unmatched_terms);
    if answers.iter().any(|answer| answer.is_doubtful) {
        found = found.value("doubtful", &true);
    }
    found.finish()
}
