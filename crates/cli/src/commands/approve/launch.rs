//! What exactly would run, and what about it is new.

use serde_json::{Value, json};
use toolbay_config::{
    ApprovalState, Approvals, DiffLine,
    scope::{Placed, Scope, Why},
    visible,
};

use crate::{
    app::{context::Context, error::CliError},
    commands::get::verdict,
    configured::report::{ConfiguredServers, short_path},
    term::style::clean_line,
};

/// The launch in lines; against the one that something was said about, if there was such.
pub(super) fn show(
    context: &Context,
    survey: &ConfiguredServers,
    approvals: &Approvals,
    placed: &Placed,
) -> Result<(), CliError> {
    let (out, project) = (&context.out, &survey.configuration.project);
    let said = approvals.verdict(project, &placed.launch);
    let place = survey.written(placed).map(|written| format!(":{}", written.location)).unwrap_or_default();
    let name = out.paint.bold(&visible(placed.server.name.as_str()));
    out.data(&format!("{name} in {}{place}: {}\n", short_path(context, &placed.file.path), verdict(said)))?;
    for line in approvals.diff(project, &placed.launch) {
        let text = clean_line(line.to_string().trim_start_matches(['+', '-', '~']));
        let text = match &line {
            // Without anything to compare with, all of it is new.
            DiffLine::Added(_) if said == ApprovalState::Unknown => format!("  {text}"),
            DiffLine::Added(_) => out.paint.green(&format!("+ {text}")),
            DiffLine::Removed(_) => out.paint.red(&format!("- {text}")),
            DiffLine::HiddenChange => out.paint.yellow(&format!("~ {text}")),
            DiffLine::Same(_) => format!("  {text}"),
        };
        out.data(&format!("  {text}\n"))?;
    }
    for other in overridden(survey, placed) {
        out.warn(&format!(
            "if approved, it replaces your own server `{}` in {}",
            visible(placed.server.name.as_str()),
            short_path(context, &other.file.path)
        ));
    }
    Ok(())
}

/// Entries of the user's own that an entry of a project takes the place of, or would.
fn overridden<'a>(survey: &'a ConfiguredServers, placed: &'a Placed) -> impl Iterator<Item = &'a Placed> {
    let merged = &survey.reading.merged;
    let lower = merged.outranked.iter().filter(|other| other.why == Why::Rank).map(|other| &other.entry);
    merged
        .servers
        .iter()
        .chain(lower)
        .filter(|other| other.server.name == placed.server.name && other.file.scope > Scope::Project)
}

/// The same for programs.
pub(super) fn json(survey: &ConfiguredServers, approvals: &Approvals, placed: &Placed) -> Value {
    let project = &survey.configuration.project;
    let lines = approvals.diff(project, &placed.launch);
    let launch = lines.iter().filter_map(|line| match line {
        DiffLine::Same(line) | DiffLine::Added(line) => Some(line.as_str()),
        DiffLine::Removed(_) | DiffLine::HiddenChange => None,
    });
    let diff: Vec<Value> = lines
        .iter()
        .map(|line| match line {
            DiffLine::Same(line) => json!({ "change": "same", "line": line }),
            DiffLine::Added(line) => json!({ "change": "added", "line": line }),
            DiffLine::Removed(line) => json!({ "change": "removed", "line": line }),
            DiffLine::HiddenChange => json!({ "change": "hidden", "line": null }),
        })
        .collect();
    json!({
        "name": placed.server.name.as_str(),
        "file": placed.file.path,
        "verdict": verdict(approvals.verdict(project, &placed.launch)),
        "launch": launch.collect::<Vec<_>>(),
        "diff": diff,
        "overrides": overridden(survey, placed).map(|other| &other.file.path).collect::<Vec<_>>(),
        "floating_package": placed.server.floating_package(),
    })
}
