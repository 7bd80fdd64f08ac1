//! `toolbay tools --cost`: what the definitions of tools take of a model's context.

use serde::Serialize;
use serde_json::json;
use toolbay_protocol::estimated_tokens;

use crate::{
    app::{context::Context, error::CliError},
    commands::listing::{Offer, counted},
    term::{
        style::{clean_line, grouped},
        table::{Cell, Look, render},
    },
};

/// What one tool costs.
#[derive(Debug, Serialize)]
struct ToolCost<'a> {
    name: &'a str,
    server: &'a str,
    bytes: usize,
    tokens: usize,
}

/// What the tools of one server cost.
#[derive(Debug, Serialize)]
struct ServerCost<'a> {
    name: &'a str,
    tools: usize,
    bytes: usize,
    tokens: usize,
}

/// Prints the tools and the servers, the most expensive first.
pub(super) fn print(context: &Context, offers: &[Offer]) -> Result<(), CliError> {
    let mut tools: Vec<ToolCost<'_>> = offers.iter().map(tool_cost).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.bytes));
    let servers = server_costs(&tools);
    let bytes: usize = tools.iter().map(|tool| tool.bytes).sum();
    let tokens = estimated_tokens(bytes);
    let out = &context.out;
    if out.json {
        let all = json!({ "tools": tools, "servers": servers, "bytes": bytes, "tokens": tokens });
        return Ok(out.json_object(&all)?);
    }
    if tools.is_empty() {
        out.note("no tools");
        return Ok(());
    }
    let head = |heads: &[&str]| heads.iter().map(|head| Cell::new(*head, Look::Dim)).collect::<Vec<_>>();
    let mut rows = vec![head(&["TOKENS", "TOOL"])];
    rows.extend(tools.iter().map(|tool| vec![grouped(tool.tokens).into(), clean_line(tool.name).into()]));
    let mut by_server = vec![head(&["TOKENS", "SHARE", "TOOLS", "SERVER"])];
    by_server.extend(servers.iter().map(|server| {
        let share = format!("{} %", (server.bytes * 100 + bytes / 2) / bytes.max(1));
        let name = Cell::new(clean_line(server.name), Look::Bold);
        vec![grouped(server.tokens).into(), share.into(), server.tools.to_string().into(), name]
    }));
    let mut lines = render(&rows, out.paint);
    lines.push(String::new());
    lines.extend(render(&by_server, out.paint));
    let all = format!(
        "{} of {}: about {} tokens (bytes / 4)",
        counted(tools.len(), "tool"),
        counted(servers.len(), "server"),
        grouped(tokens)
    );
    lines.extend([String::new(), out.paint.bold(&all)]);
    Ok(out.data(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?)
}

fn tool_cost(offer: &Offer) -> ToolCost<'_> {
    let bytes = offer.json.len();
    let server = offer.server.as_deref().unwrap_or("?");
    ToolCost { name: &offer.name, server, bytes, tokens: estimated_tokens(bytes) }
}

fn server_costs<'a>(tools: &[ToolCost<'a>]) -> Vec<ServerCost<'a>> {
    let mut servers: Vec<ServerCost<'a>> = Vec::new();
    for tool in tools {
        let known = servers.iter().position(|server| server.name == tool.server);
        let index = known.unwrap_or_else(|| {
            servers.push(ServerCost { name: tool.server, tools: 0, bytes: 0, tokens: 0 });
            servers.len() - 1
        });
        servers[index].tools += 1;
        servers[index].bytes += tool.bytes;
    }
    for server in &mut servers {
        server.tokens = estimated_tokens(server.bytes);
    }
    servers.sort_by_key(|server| std::cmp::Reverse(server.bytes));
    servers
}
