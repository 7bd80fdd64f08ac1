//! Definitions of servers that are not as they were pinned: shows what changed, and approves it.

use serde_json::{Value, json};
use toolbay_config::{DiffLine, scope::Placed, visible};
use toolbay_pins::{Change, ChangeKind, PinFile, PinMode, PinSubject, ServerPins, diff};

use crate::{
    app::{context::Context, error::CliError, pins::subject},
    configured::report::{ConfiguredServers, short_path},
    term::style::clean_line,
};

/// The definitions of one server that wait for approval.
pub(super) struct WaitingDefinitions<'a> {
    pub(super) placed: &'a Placed,
    subject: PinSubject,
    /// What is shown is what is approved.
    pins: ServerPins,
    changes: Vec<Change>,
}

/// The definitions that wait: of all servers that count, or of one.
pub(super) fn waiting<'a>(
    context: &Context,
    survey: &'a ConfiguredServers,
    name: Option<&str>,
) -> Result<Vec<WaitingDefinitions<'a>>, CliError> {
    let Some(path) = context.env.pins() else { return Ok(Vec::new()) };
    let pins = PinFile::at(&path).read()?;
    let of = |placed: &'a Placed| {
        let subject = subject(placed)?;
        let pins = pins.get(&subject.server).filter(|pins| pins.launch == subject.launch)?.clone();
        let changes = pins.waiting();
        (!changes.is_empty()).then_some(WaitingDefinitions { placed, subject, pins, changes })
    };
    let servers = survey.reading.merged.servers.iter();
    Ok(servers.filter(|it| name.is_none_or(|name| it.server.name.as_str() == name)).filter_map(of).collect())
}

impl WaitingDefinitions<'_> {
    /// Pins what was shown. A hub that runs follows within a second.
    pub(super) fn approve(&self, context: &Context) -> Result<(), CliError> {
        let Some(path) = context.env.pins() else { return Ok(()) };
        PinFile::at(&path).change(|pins| pins.approve(&self.subject.server, &self.pins))?;
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        self.placed.server.name.as_str()
    }

    /// What changed, in lines.
    pub(super) fn show(&self, context: &Context) -> Result<(), CliError> {
        let out = &context.out;
        let (name, file) =
            (out.paint.bold(&visible(self.name())), short_path(context, &self.placed.file.path));
        let effect = match self.subject.mode {
            PinMode::Quarantine => "not offered until approved",
            PinMode::Warn | PinMode::Off => "offered",
        };
        let count = self.changes.len();
        let counted = if count == 1 { "1 difference".to_owned() } else { format!("{count} differences") };
        out.data(&format!("{name} in {file}: {counted} from what was pinned, {effect} (definitions)\n"))?;
        for change in &self.changes {
            out.data(&format!("  {}\n", clean_line(&visible(&change.to_string()))))?;
            for suspicion in self.suspicions(change) {
                out.data(&format!("    {}\n", out.paint.yellow(&format!("! {suspicion}"))))?;
            }
            for line in self.diff(change) {
                let text = clean_line(line.to_string().get(2..).unwrap_or_default());
                let text = match &line {
                    DiffLine::Added(_) => out.paint.green(&format!("+ {text}")),
                    DiffLine::Removed(_) => out.paint.red(&format!("- {text}")),
                    DiffLine::HiddenChange => out.paint.yellow(&format!("~ {text}")),
                    // Of a definition that changed, only the changes matter.
                    DiffLine::Same(_) => continue,
                };
                out.data(&format!("    {text}\n"))?;
            }
        }
        Ok(())
    }

    fn suspicions(&self, change: &Change) -> Vec<String> {
        let found = self.pins.found.get(&change.key);
        found.map(|it| it.suspicions.iter().map(ToString::to_string).collect()).unwrap_or_default()
    }

    fn diff(&self, change: &Change) -> Vec<DiffLine> {
        match change.kind {
            ChangeKind::Removed => Vec::new(),
            _ => diff(self.pins.pinned.get(&change.key), self.pins.found.get(&change.key)),
        }
    }

    /// The same as JSON.
    pub(super) fn json(&self, is_approved: bool) -> Value {
        let changes = self.changes.iter().map(|change| {
            let (what, fields, from) = match &change.kind {
                ChangeKind::New => ("new", None, None),
                ChangeKind::Renamed { from } => ("renamed", None, Some(from)),
                ChangeKind::Changed { fields } => ("changed", Some(fields), None),
                ChangeKind::Removed => ("removed", None, None),
                ChangeKind::Suspicious => ("suspicious", None, None),
            };
            let diff: Vec<Value> = self.diff(change).iter().map(super::diff_line).collect();
            json!({
                "kind": change.key.kind.as_str(),
                "name": change.key.name,
                "change": what,
                "fields": fields,
                "from": from,
                "suspicions": self.suspicions(change),
                "diff": diff,
            })
        });
        json!({
            "name": self.name(),
            "approval": "definitions",
            "file": self.placed.file.path,
            "offered": self.subject.mode != PinMode::Quarantine,
            "changes": changes.collect::<Vec<_>>(),
            "now": if is_approved { "approved" } else { "waiting" },
        })
    }
}
