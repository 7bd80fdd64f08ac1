//! `toolbay approve`: allows servers of the project to run, exactly as shown, and accepts definitions that changed.

mod definitions;

use serde_json::{Value, json};
use toolbay_config::{
    ApprovalState, Approvals, DiffLine, Permission,
    scope::{OverrideReason, Placed, Scope},
    visible,
};

use self::definitions::WaitingDefinitions;
use super::get::verdict;
use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
    },
    args::ApproveArgs,
    configured::report::{ConfiguredServers, short_path},
    term::{
        confirm::{ask, can_ask, confirm},
        style::clean_line,
    },
};

/// The decision of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApproveDecision {
    Approved,
    Rejected,
    /// Not now.
    Left,
}

pub(crate) async fn run(context: &Context, args: &ApproveArgs) -> Result<(), CliError> {
    if args.name.is_none() && !args.all && (args.yes || args.reject) {
        return Err(CliError::usage("name a server, or pass --all"));
    }
    let survey = ConfiguredServers::read(context)?;
    let mut approvals = survey.configuration.approvals();
    let project = survey.configuration.project.clone();
    let definitions = definitions::waiting(context, &survey, args.name.as_deref())?;
    let chosen = match &args.name {
        Some(name) => match of_project(&survey).into_iter().find(|it| it.server.name.as_str() == name) {
            // One that was approved is not asked about again where its definitions are meant.
            Some(placed) if !definitions.is_empty() && is_settled(&approvals, &survey, placed) => Vec::new(),
            Some(placed) => vec![placed],
            None if !definitions.is_empty() => Vec::new(),
            None if survey.find(name).is_some() => {
                context.out.note(&format!("`{name}` is from your own file and needs no approval"));
                return Ok(());
            }
            None => return Err(unknown(&survey, name)),
        },
        None => waiting(&survey),
    };
    if chosen.is_empty() && definitions.is_empty() {
        context.out.note("no servers need approval");
    }
    let mut decisions = vec![ApproveDecision::Left; chosen.len()];
    let mut approved = vec![false; definitions.len()];
    let is_asked = !args.yes && !args.reject && !args.diff && can_ask(context);
    if !context.out.json {
        warn_unpinned(context, &chosen);
        for (placed, decision) in chosen.iter().zip(&mut decisions) {
            show(context, &survey, &approvals, placed)?;
            if is_asked && !args.all && !is_settled(&approvals, &survey, placed) {
                *decision = question(context, placed).await?;
                store(&mut approvals, &survey, placed, *decision)?;
            }
        }
        for (waiting, is_approved) in definitions.iter().zip(&mut approved) {
            waiting.show(context)?;
            if is_asked && !args.all && approve_definitions(context, waiting).await? {
                waiting.approve(context)?;
                *is_approved = true;
            }
        }
    }
    let before: Vec<Value> = chosen.iter().map(|placed| json(&survey, &approvals, placed)).collect();
    let for_all = match args {
        ApproveArgs { reject: true, .. } => Some(ApproveDecision::Rejected),
        ApproveArgs { yes: true, .. } => Some(ApproveDecision::Approved),
        _ if is_asked && args.all && !(chosen.is_empty() && definitions.is_empty()) => {
            confirm(context, "Approve all of them?").await?.then_some(ApproveDecision::Approved)
        }
        _ => None,
    };
    if let Some(decision) = for_all {
        decisions.fill(decision);
        for placed in &chosen {
            store(&mut approvals, &survey, placed, decision)?;
        }
        if decision == ApproveDecision::Approved {
            approved.fill(true);
            definitions.iter().try_for_each(|waiting| waiting.approve(context))?;
        }
    }
    if context.out.json {
        let servers = before.into_iter().zip(&chosen).map(|(mut server, placed)| {
            server["now"] = verdict(approvals.verdict(&project, &placed.launch)).into();
            server
        });
        let waiting =
            definitions.iter().zip(&approved).map(|(waiting, is_approved)| waiting.json(*is_approved));
        context.out.json_object(&json!({ "servers": servers.chain(waiting).collect::<Vec<_>>() }))?;
    }
    report(context, &chosen, &decisions);
    for (waiting, _) in definitions.iter().zip(&approved).filter(|(_, is_approved)| **is_approved) {
        context.out.note(&format!("{}: definitions approved", visible(waiting.name())));
    }
    let left = chosen.iter().filter(|placed| !is_settled(&approvals, &survey, placed));
    let unapproved = definitions.iter().zip(&approved).filter(|(_, is_approved)| !**is_approved);
    let left = left.map(|placed| placed.server.name.as_str());
    let left = left.chain(unapproved.map(|(waiting, _)| waiting.name()));
    let left: Vec<String> = left.map(str::to_owned).collect();
    match left.is_empty() || args.diff || is_asked {
        true => Ok(()),
        false => Err(CliError::NeedsApproval { servers: left }),
    }
}

/// The servers that came with the project, each name once: the entry that counts, or would if it were approved.
fn of_project(survey: &ConfiguredServers) -> Vec<&Placed> {
    let merged = &survey.reading.merged;
    let inert =
        merged.overridden.iter().filter(|other| other.why == OverrideReason::Inert).map(|other| &other.entry);
    let mut all: Vec<&Placed> = Vec::new();
    for placed in merged.servers.iter().chain(inert).filter(|placed| placed.file.scope == Scope::Project) {
        if !all.iter().any(|other| other.server.name == placed.server.name) {
            all.push(placed);
        }
    }
    all
}

fn waiting(survey: &ConfiguredServers) -> Vec<&Placed> {
    let mut all = of_project(survey);
    all.retain(|placed| placed.server.permission == Permission::Pending);
    all
}

fn unknown(survey: &ConfiguredServers, name: &str) -> CliError {
    let known: Vec<String> =
        of_project(survey).iter().map(|placed| placed.server.name.as_str().to_owned()).collect();
    let similar = similar(name, known.iter().map(String::as_str));
    CliError::UnknownServer { name: name.to_owned(), similar, known }
}

/// Names all servers whose packages are not pinned, before the first of them is approved.
fn warn_unpinned(context: &Context, chosen: &[&Placed]) {
    let of = |placed: &&Placed| {
        let package = visible(placed.server.floating_package()?);
        Some((visible(placed.server.name.as_str()), package))
    };
    let unpinned: Vec<_> = chosen.iter().filter_map(of).collect();
    match unpinned.as_slice() {
        [] => {}
        [(server, package)] => context.out.warn(&format!(
            "server `{server}`: `{package}` is not pinned to a version: the program that you approve may change"
        )),
        several => {
            let names: Vec<String> =
                several.iter().map(|(server, package)| format!("{server} (`{package}`)")).collect();
            context.out.warn(&format!(
                "{} servers are not pinned to a version, so that the programs that you approve may change: {}",
                several.len(),
                names.join(", ")
            ));
        }
    }
}

/// Whether exactly this launch was approved or rejected.
fn is_settled(approvals: &Approvals, survey: &ConfiguredServers, placed: &Placed) -> bool {
    let verdict = approvals.verdict(&survey.configuration.project, &placed.launch);
    matches!(verdict, ApprovalState::Approved | ApprovalState::Rejected)
}

async fn question(context: &Context, placed: &Placed) -> Result<ApproveDecision, CliError> {
    let question =
        format!("Approve `{}`? [y]es, [N]o, [r]eject permanently: ", visible(placed.server.name.as_str()));
    Ok(match ask(context, &question).await?.as_str() {
        "y" | "yes" => ApproveDecision::Approved,
        "r" | "reject" => ApproveDecision::Rejected,
        _ => ApproveDecision::Left,
    })
}

async fn approve_definitions(context: &Context, waiting: &WaitingDefinitions<'_>) -> Result<bool, CliError> {
    let question = format!("Approve these definitions of `{}`? [y]es, [N]o: ", visible(waiting.name()));
    Ok(matches!(ask(context, &question).await?.as_str(), "y" | "yes"))
}

/// Stores the decision for the launch that was shown: an entry that has changed meanwhile must be approved again.
fn store(
    approvals: &mut Approvals,
    survey: &ConfiguredServers,
    placed: &Placed,
    decision: ApproveDecision,
) -> Result<(), CliError> {
    let project = &survey.configuration.project;
    match decision {
        ApproveDecision::Approved => approvals.approve(project, &placed.launch)?,
        ApproveDecision::Rejected => approvals.reject(project, &placed.launch)?,
        ApproveDecision::Left => {}
    }
    Ok(())
}

fn report(context: &Context, chosen: &[&Placed], decisions: &[ApproveDecision]) {
    for (placed, decision) in chosen.iter().zip(decisions) {
        let outcome = match decision {
            ApproveDecision::Approved => "approved",
            ApproveDecision::Rejected => "rejected",
            ApproveDecision::Left => continue,
        };
        context.out.note(&format!("{}: {outcome}", visible(placed.server.name.as_str())));
    }
}

/// The launch in lines; compared with the one that was decided on before, if there was one.
fn show(
    context: &Context,
    survey: &ConfiguredServers,
    approvals: &Approvals,
    placed: &Placed,
) -> Result<(), CliError> {
    let (out, project) = (&context.out, &survey.configuration.project);
    let state = approvals.verdict(project, &placed.launch);
    let place = survey.written(placed).map(|written| format!(":{}", written.location)).unwrap_or_default();
    let name = out.paint.bold(&visible(placed.server.name.as_str()));
    out.data(&format!(
        "{name} in {}{place}: {} (launch)\n",
        short_path(context, &placed.file.path),
        verdict(state)
    ))?;
    for line in approvals.diff(project, &placed.launch) {
        let text = clean_line(line.to_string().trim_start_matches(['+', '-', '~']));
        let text = match &line {
            // Without anything to compare with, all of it is new.
            DiffLine::Added(_) if state == ApprovalState::Unknown => format!("  {text}"),
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
    let lower =
        merged.overridden.iter().filter(|other| other.why == OverrideReason::Rank).map(|other| &other.entry);
    merged
        .servers
        .iter()
        .chain(lower)
        .filter(|other| other.server.name == placed.server.name && other.file.scope > Scope::Project)
}

/// The same as JSON.
fn json(survey: &ConfiguredServers, approvals: &Approvals, placed: &Placed) -> Value {
    let project = &survey.configuration.project;
    let lines = approvals.diff(project, &placed.launch);
    let launch = lines.iter().filter_map(|line| match line {
        DiffLine::Same(line) | DiffLine::Added(line) => Some(line.as_str()),
        DiffLine::Removed(_) | DiffLine::HiddenChange => None,
    });
    let diff: Vec<Value> = lines.iter().map(diff_line).collect();
    json!({
        "name": placed.server.name.as_str(),
        "approval": "launch",
        "file": placed.file.path,
        "verdict": verdict(approvals.verdict(project, &placed.launch)),
        "launch": launch.collect::<Vec<_>>(),
        "diff": diff,
        "overrides": overridden(survey, placed).map(|other| &other.file.path).collect::<Vec<_>>(),
        "floating_package": placed.server.floating_package(),
    })
}

fn diff_line(line: &DiffLine) -> Value {
    match line {
        DiffLine::Same(line) => json!({ "change": "same", "line": line }),
        DiffLine::Added(line) => json!({ "change": "added", "line": line }),
        DiffLine::Removed(line) => json!({ "change": "removed", "line": line }),
        DiffLine::HiddenChange => json!({ "change": "hidden", "line": null }),
    }
}
