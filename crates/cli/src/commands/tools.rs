//! `toolbay tools`: what can be called.

use toolbay_host::Kind;
use toolbay_protocol::view::Tool;

use crate::{
    context::Context,
    error::CliError,
    session,
    style::clean_line,
    table::{Cell, Look, render},
};

pub(crate) async fn run(context: &Context) -> Result<(), CliError> {
    session::with(context, async |session| {
        session.ready(None).await?;
        let tools = session.client.list(Kind::Tools).await?;
        let out = &context.out;
        if out.json {
            return Ok(out.json_fields(&format!("\"tools\":[{}]", tools.join(",")))?);
        }
        let rows: Vec<Vec<Cell>> = tools
            .into_iter()
            .filter_map(|text| Tool::parse(text.into()).ok())
            .map(|tool| row(tool.name(), tool.description().as_deref()))
            .collect();
        print(context, &rows, "no tools")
    })
    .await
}

/// A name and the first line about it.
pub(super) fn row(name: &str, description: Option<&str>) -> Vec<Cell> {
    vec![Cell::new(clean_line(name), Look::Bold), clean_line(description.unwrap_or("")).into()]
}

pub(super) fn print(context: &Context, rows: &[Vec<Cell>], nothing: &str) -> Result<(), CliError> {
    if rows.is_empty() {
        context.out.note(nothing);
    }
    for line in render(rows, context.out.paint) {
        context.out.data(&format!("{line}\n"))?;
    }
    Ok(())
}
