//! Everything about one tool.

use serde_json::Value;
use toolbay_protocol::model::Tool;

use crate::{
    app::{context::Context, error::CliError},
    commands::listing::Offer,
    configured::describe::command_line,
    schema::{Parameter, example, parameters},
    term::{
        style::{clean, clean_line},
        table::{Cell, Look, render_fitting},
    },
};

/// Shows what a tool does, what it wants and gives, and how it is called.
pub(super) fn show(context: &Context, offer: &Offer) -> Result<(), CliError> {
    let out = &context.out;
    if out.json {
        return Ok(out.json_fields(&format!("\"tools\":[{}]", offer.json))?);
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

/// What the server says about how careful one must be.
fn behavior(tool: &Value) -> String {
    let says = |key: &str, is: bool| tool["annotations"][key].as_bool() == Some(is);
    let hints = [
        (says("readOnlyHint", true), "changes nothing"),
        (says("destructiveHint", true) && !says("readOnlyHint", true), "destructive"),
        (says("idempotentHint", true), "idempotent"),
        (says("openWorldHint", true), "interacts with external systems"),
    ];
    let said: Vec<&str> = hints.iter().filter(|(is_said, _)| *is_said).map(|(_, text)| *text).collect();
    if said.is_empty() { String::new() } else { format!("According to its server: {}.", said.join(", ")) }
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
