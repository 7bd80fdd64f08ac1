//! Lists of tools, resources and prompts: one line each, grouped by server, as wide as the terminal.

use toolbay_host::CatalogKind;

use crate::{
    app::{
        context::Context,
        error::{CliError, similar},
        session::{Needs, Session},
    },
    args::ListArgs,
    term::style::{clean_line, cut, head, width},
};

/// On a terminal, the columns that a description must have left to be worth showing.
const WORTH_SHOWING: usize = 12;

/// A tool, resource or prompt.
#[derive(Debug)]
pub(super) struct Offer {
    /// The server that has it, where that is known.
    pub(super) server: Option<String>,
    /// By which it is used: a name or a URI.
    pub(super) name: String,
    /// Its parameters, as `(a: number)`.
    pub(super) parameters: String,
    pub(super) description: String,
    /// The whole definition, as the server wrote it but for its name.
    pub(super) json: String,
}

impl ListArgs {
    /// The servers that this list needs where no hub runs.
    pub(super) fn needs(&self) -> Needs<'_> {
        match (&self.server, self.live) {
            (Some(server), live) => Needs::Server { name: server, live },
            (None, true) => Needs::All,
            (None, false) => Needs::Catalogs,
        }
    }

    /// Keeps the items that match the pattern and the server.
    pub(super) fn filter(&self, offers: &mut Vec<Offer>) {
        if let Some(server) = &self.server {
            offers.retain(|offer| offer.server.as_ref() == Some(server));
        }
        if let Some(pattern) = &self.pattern {
            let pattern = pattern.to_lowercase();
            let has = |text: &str| text.to_lowercase().contains(&pattern);
            offers.retain(|offer| has(&offer.name) || has(&offer.description));
        }
    }

    /// Whether there is a filter.
    fn is_filter(&self) -> bool {
        self.pattern.is_some() || self.server.is_some()
    }
}

/// Says which server has each offer.
pub(super) async fn find_owners(
    session: &Session<'_>,
    kind: CatalogKind,
    offers: &mut [Offer],
) -> Result<(), CliError> {
    let names: Vec<&str> = offers.iter().map(|offer| offer.name.as_str()).collect();
    let owners = session.owners(kind, &names).await?;
    for (offer, owner) in offers.iter_mut().zip(owners) {
        offer.server = owner;
    }
    Ok(())
}

/// Refuses `--server NAME` where there is none of that name.
pub(super) async fn check_server(session: &Session<'_>, args: &ListArgs) -> Result<(), CliError> {
    let Some(name) = &args.server else { return Ok(()) };
    let servers = session.client.snapshot().await?.servers;
    if servers.iter().any(|server| server.name == *name) {
        return Ok(());
    }
    let known: Vec<String> = servers.into_iter().map(|server| server.name).collect();
    let similar = similar(name, known.iter().map(String::as_str));
    Err(CliError::UnknownServer { name: name.clone(), similar, known })
}

/// Prints the items that are left after filtering; `kind` is the noun for one of them.
pub(super) fn print(
    context: &Context,
    args: &ListArgs,
    kind: &str,
    offers: &[Offer],
) -> Result<(), CliError> {
    if offers.is_empty() && args.is_filter() {
        context.out.note(&match &args.pattern {
            Some(pattern) => format!("no {kind} matches `{}`", clean_line(pattern)),
            None => format!("no {kind}s"),
        });
        return Err(CliError::NothingFound);
    }
    if offers.is_empty() {
        context.out.note(&format!("no {kind}s"));
        return Ok(());
    }
    let groups = groups(offers);
    let mut text = String::new();
    for (index, (server, offers)) in groups.iter().enumerate() {
        if context.out.stdout_is_terminal {
            let space = if index == 0 { "" } else { "\n" };
            let heading = format!("{} ({})", clean_line(server), counted(offers.len(), kind));
            text.push_str(&format!("{space}{}\n", context.out.paint.bold(&heading)));
        }
        for line in lines(context, offers) {
            text.push_str(&format!("{line}\n"));
        }
    }
    context.out.data(&text)?;
    if context.out.stdout_is_terminal {
        let servers = counted(groups.len(), "server");
        context.out.note(&format!("\n{} of {servers}", counted(offers.len(), kind)));
    }
    Ok(())
}

/// `1 tool`, `2 tools`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Offers by server, in the order in which servers come first.
fn groups(offers: &[Offer]) -> Vec<(&str, Vec<&Offer>)> {
    let mut groups: Vec<(&str, Vec<&Offer>)> = Vec::new();
    for offer in offers {
        let server = offer.server.as_deref().unwrap_or("?");
        match groups.iter_mut().find(|(known, _)| *known == server) {
            Some((_, group)) => group.push(offer),
            None => groups.push((server, vec![offer])),
        }
    }
    groups
}

/// A line for each; on a terminal it is never wider than that.
fn lines(context: &Context, offers: &[&Offer]) -> Vec<String> {
    let paint = context.out.paint;
    let Some(columns) = context.out.columns else {
        let line = |offer: &&Offer| {
            let (name, description) = (clean_line(&offer.name), clean_line(&offer.description));
            let line = format!("{}{}  {description}", paint.bold(&name), clean_line(&offer.parameters));
            line.trim_end().to_owned()
        };
        return offers.iter().map(line).collect();
    };
    // The name comes first; long parameters are cut, so that there is room for the description.
    let most = (columns * 3 / 5).max(20);
    let usages: Vec<(String, String)> = offers
        .iter()
        .map(|offer| {
            let name = cut(&clean_line(&offer.name), columns.saturating_sub(2));
            let parameters = clean_line(&offer.parameters);
            let room = most.saturating_sub(width(&name)).max(5);
            (name, shorter(&parameters, room))
        })
        .collect();
    let column = usages.iter().map(|(name, parameters)| width(name) + width(parameters)).max().unwrap_or(0);
    let column = column.min(columns / 2);
    let line = |((name, parameters), offer): (&(String, String), &&Offer)| {
        let used = width(name) + width(parameters);
        let (padding, room) = (column.max(used) - used + 2, columns.saturating_sub(column.max(used) + 4));
        let usage = format!("  {}{}", paint.bold(name), paint.dim(parameters));
        let description = clean_line(&offer.description);
        if description.is_empty() || room < WORTH_SHOWING.min(width(&description)) {
            return usage;
        }
        format!("{usage}{}{}", " ".repeat(padding), cut(&description, room))
    };
    usages.iter().zip(offers).map(line).collect()
}

/// `(a: number, …)` for parameters that do not fit.
fn shorter(parameters: &str, room: usize) -> String {
    if width(parameters) <= room {
        return parameters.to_owned();
    }
    let fitting = head(parameters, room.saturating_sub(3));
    let end = fitting.rfind(", ").map_or(1.min(fitting.len()), |comma| comma + 2);
    format!("{}…)", &fitting[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parameters_end_between_two_of_them() {
        for (parameters, room, expected) in [
            ("()", 5, "()"),
            ("(a: number, b: string)", 30, "(a: number, b: string)"),
            ("(a: number, b: string)", 20, "(a: number, …)"),
            ("(a: number, b: string)", 5, "(…)"),
        ] {
            assert_eq!(shorter(parameters, room), expected);
        }
    }
}
