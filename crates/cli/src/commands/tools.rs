//! `toolbay tools`: lists the tools, shows one or what they cost, and finds them.

mod cost;
mod search;

use serde_json::Value;
use toolbay_host::CatalogKind;
use toolbay_protocol::{ObjectBuilder, model::Tool};

use super::listing::{self, Offer};
use crate::{
    app::{context::Context, error::CliError, session},
    args::ToolsArgs,
    configured::describe::command_line,
    term::{
        parameters::{Parameter, example, parameters, signature},
        style::{clean, clean_line},
        table::{Cell, Look, render_fitting},
    },
};

pub(crate) async fn run(context: &Context, args: &ToolsArgs) -> Result<(), CliError> {
    let (query, is_cost, args) = (args.search.as_deref(), args.cost, &args.list);
    session::with(context, args.needs(), async |session| {
        session.ready_to_list(args.wait).await?;
        listing::check_server(session, args).await?;
        let mut offers = offers(session.list(CatalogKind::Tools).await?);
        listing::find_owners(session, CatalogKind::Tools, &mut offers).await?;
        if let Some(query) = query {
            return search::print(context, &offers, query, args.server.as_deref());
        }
        if is_cost {
            args.filter(&mut offers);
            return cost::print(context, &offers);
        }
        let one = args.pattern.as_ref().and_then(|name| named(&offers, name, args.server.as_deref()));
        if let Some(index) = one {
            let tool = offers.swap_remove(index);
            return show(context, &tool);
        }
        args.filter(&mut offers);
        if context.out.json {
            let tools: Vec<&str> = offers.iter().map(|offer| offer.json.as_str()).collect();
            return Ok(context.out.json_fields(ObjectBuilder::new().array("tools", tools))?);
        }
        listing::print(context, args, "tool", &offers)
    })
    .await
}

fn offers(tools: Vec<String>) -> Vec<Offer> {
    let offer = |json: String| {
        let tool = Tool::parse(json.clone().into()).ok()?;
        Some(Offer {
            server: None,
            name: tool.name().to_owned(),
            parameters: signature(&parameters(tool.input_schema().unwrap_or("{}"))),
            description: tool.description().unwrap_or_default().into_owned(),
            json,
        })
    };
    tools.into_iter().filter_map(offer).collect()
}

/// Finds a tool by its full name, or by the name that its server gives it where that is unique.
fn named(offers: &[Offer], name: &str, server: Option<&str>) -> Option<usize> {
    let is_asked = |offer: &Offer| server.is_none() || offer.server.as_deref() == server;
    let bare = |offer: &Offer| offer.name.split_once("__").is_some_and(|(_, bare)| bare == name);
    if let Some(index) = offers.iter().position(|offer| offer.name == name && is_asked(offer)) {
        return Some(index);
    }
    let mut found = offers.iter().enumerate().filter(|(_, offer)| bare(offer) && is_asked(offer));
    let (index, _) = found.next()?;
    found.next().is_none().then_some(index)
}

/// Shows a tool: its description, parameters, result and an example call.
fn show(context: &Context, offer: &Offer) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        return Ok(out.json_fields(ObjectBuilder::new().array("tools", [offer.json.as_str()]))?);
    }
    let Ok(tool) = Tool::parse(offer.json.clone().into()) else {
        return Err(CliError::BadResult { why: "the definition of the tool is not valid".to_owned() });
    };
    let value: Value = serde_json::from_str(&offer.json).unwrap_or_default();
    let wanted = parameters(tool.input_schema().unwrap_or("{}"));
    let given = value.get("outputSchema").map(|schema| parameters(&schema.to_string())).unwrap_or_default();

    let server = offer.server.as_deref().map(|server| format!("  server {}", clean_line(server)));
    let name = out.paint.bold(&clean_line(&offer.name));
    let mut text = format!("{name}{}\n", out.paint.dim(&server.unwrap_or_default()));
    let title = value["title"].as_str().or(value["annotations"]["title"].as_str()).unwrap_or_default();
    for line in [title, &offer.description, &behavior(&value)] {
        if !line.is_empty() {
            text.push_str(&format!("{}\n", clean(line).trim_end()));
        }
    }
    text.push('\n');
    if wanted.is_empty() {
        text.push_str("No parameters.\n");
    } else {
        text.push_str(&table(context, "PARAMETER", &wanted));
    }
    if !given.is_empty() {
        text.push_str(&format!("\n{}", table(context, "RESULT", &given)));
    }
    text.push_str(&format!("\n{}\n  {}\n", out.paint.dim("EXAMPLE"), call(&offer.name, &wanted)));
    Ok(out.data(&text)?)
}

/// The annotations of a tool: read-only, destructive and so on.
fn behavior(tool: &Value) -> String {
    let hints_at = |key: &str, is: bool| tool["annotations"][key].as_bool() == Some(is);
    let hints = [
        (hints_at("readOnlyHint", true), "changes nothing"),
        (hints_at("destructiveHint", true) && !hints_at("readOnlyHint", true), "destructive"),
        (hints_at("idempotentHint", true), "idempotent"),
        (hints_at("openWorldHint", true), "interacts with external systems"),
    ];
    let given: Vec<&str> = hints.iter().filter(|(is_given, _)| *is_given).map(|(_, text)| *text).collect();
    if given.is_empty() { String::new() } else { format!("According to its server: {}.", given.join(", ")) }
}

fn table(context: &Context, what: &str, parameters: &[Parameter]) -> String {
    let mut heads = vec![what, "TYPE", "REQUIRED"];
    let has_default = parameters.iter().any(|parameter| parameter.default.is_some());
    heads.extend(has_default.then_some("DEFAULT"));
    heads.push("DESCRIPTION");
    let mut rows = vec![heads.iter().map(|head| Cell::new(*head, Look::Dim)).collect::<Vec<_>>()];
    for parameter in parameters {
        let mut row = vec![
            Cell::new(clean_line(&parameter.name), Look::Bold),
            clean_line(&parameter.type_name).into(),
            if parameter.is_required { "yes" } else { "no" }.into(),
        ];
        if has_default {
            row.push(clean_line(parameter.default.as_deref().unwrap_or_default()).into());
        }
        row.push(clean(parameter.description.as_deref().unwrap_or_default()).replace('\n', " ").into());
        rows.push(row);
    }
    let lines = render_fitting(&rows, context.out.paint, context.out.columns);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A command that calls it, with the parameters that it must have, or else the first.
fn call(name: &str, parameters: &[Parameter]) -> String {
    let required: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.is_required).collect();
    let shown = if required.is_empty() { parameters.iter().take(1).collect() } else { required };
    let arguments = shown.into_iter().map(|parameter| match example(parameter) {
        Value::String(text) => format!("{}={}", parameter.name, clean_line(&text)),
        value => format!("{}={}", parameter.name, clean_line(&value.to_string())),
    });
    let words: Vec<String> =
        ["toolbay", "call", name].map(str::to_owned).into_iter().chain(arguments).collect();
    command_line(words.iter().map(String::as_str))
}
