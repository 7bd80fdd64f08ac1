//! Checks the configuration files: ownership, syntax and entries.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

use toolbay_config::{
    ConfigError, ConfigFile, Problem,
    scope::{Overridden, OverrideReason, Placed, Reading},
};
use toolbay_pins::{PinFile, PinMode};

use super::report::Finding;
use crate::{
    app::{context::Context, cycle::ITSELF, pins::subject},
    configured::files::Configuration,
};

const CHECK: &str = "config";

/// Checks all files; with `only`, their entries of that server.
pub(super) fn check(configuration: &Configuration, reading: &Reading, only: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_any_there = false;
    for file in &configuration.files {
        let path = &file.path;
        let loaded = match configuration.load(path) {
            Err(ConfigError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
            loaded => loaded,
        };
        is_any_there = true;
        match loaded {
            Ok(file) => findings.extend(entries(path, &file, only)),
            Err(error) => findings.push(unusable(path, &error)),
        }
        findings.extend(strangers(path));
    }
    if !is_any_there {
        let fix = "add a server with `toolbay add`, or pass --config FILE";
        findings.push(Finding::odd(CHECK, "no configuration found").fix(fix));
    }
    let of_interest =
        |overridden: &&Overridden| only.is_none_or(|only| overridden.entry.server.name.as_str() == only);
    findings.extend(reading.merged.overridden.iter().filter(of_interest).map(twice));
    let itself = reading.problems.iter().filter(|(_, problem)| problem.message == ITSELF);
    for (path, problem) in itself {
        let server = problem.server.as_deref().unwrap_or_default();
        if only.is_none_or(|only| server == only) {
            let message = format!("{}:{}: it is this hub itself", path.display(), problem.location);
            findings.push(Finding::bad(CHECK, message).fix("remove the entry").about(server));
        }
    }
    if let Some(problem) = configuration.approvals().problem() {
        let message = format!("approvals: {problem}");
        findings.push(Finding::odd("approvals", message).fix("approve again with `toolbay approve`"));
    }
    findings
}

/// Definitions that are not as they were pinned.
pub(super) fn check_pins(context: &Context, reading: &Reading, only: Option<&str>) -> Vec<Finding> {
    const CHECK: &str = "pins";
    let Some(path) = context.env.pins() else { return Vec::new() };
    let pins = match PinFile::at(&path).read() {
        Ok(pins) => pins,
        Err(error) => return vec![Finding::bad(CHECK, error.to_string())],
    };
    let placed = reading.merged.servers.iter();
    let of = |placed: &Placed| {
        let subject = subject(placed)?;
        let known = pins.get(&subject.server).filter(|known| known.launch == subject.launch)?;
        let waiting = known.waiting();
        let (name, first) = (placed.server.name.as_str(), waiting.first()?);
        let more =
            if waiting.len() > 1 { format!(", and {} more", waiting.len() - 1) } else { String::new() };
        let hidden = match subject.mode {
            PinMode::Quarantine => "; not offered until approved",
            PinMode::Warn | PinMode::Off => "",
        };
        let message = format!("definitions are not as they were pinned: {first}{more}{hidden}");
        Some(Finding::odd(CHECK, message).fix(format!("toolbay approve {name}")).about(name))
    };
    placed.filter(|it| only.is_none_or(|only| it.server.name.as_str() == only)).filter_map(of).collect()
}

fn entries(path: &Path, file: &ConfigFile, only: Option<&str>) -> Vec<Finding> {
    let of_interest = |problem: &&Problem| only.is_none() || problem.server.as_deref() == only;
    let at = |problem: &Problem| format!("{}:{}: {}", path.display(), problem.location, problem.message);
    let about = |finding: Finding, problem: &Problem| match &problem.server {
        Some(server) => finding.about(server),
        None => finding,
    };
    let bad = file.problems.iter().filter(of_interest).map(|problem| {
        about(Finding::bad(CHECK, at(problem)).fix("fix the entry; the others are not affected"), problem)
    });
    let odd = file.warnings.iter().filter(of_interest);
    let odd = odd.map(|warning| about(Finding::odd(CHECK, at(warning)), warning));
    let mut findings: Vec<Finding> = bad.chain(odd).collect();
    let count = file.servers.len();
    let servers = if count == 1 { "server" } else { "servers" };
    findings.insert(0, Finding::good(CHECK, format!("{}: {count} {servers}", path.display())));
    for (server, variables) in &file.incomplete {
        if only.is_none_or(|only| server.as_str() == only) {
            let message = format!("no value for {}", variables.join(", "));
            let fix = "set it in the environment of Toolbay, or in the entry";
            findings.push(Finding::odd(CHECK, message).fix(fix).about(server.as_str()));
        }
    }
    findings
}

fn unusable(path: &Path, error: &ConfigError) -> Finding {
    let fix = match error {
        ConfigError::WritableByAll { .. } => format!("chmod o-w {}", path.display()),
        ConfigError::WritableByGroup { .. } => format!("chmod g-w {}", path.display()),
        ConfigError::ForeignOwner { .. } => format!("take ownership: sudo chown $USER {}", path.display()),
        ConfigError::Read { .. } => format!("make it readable: chmod u+r {}", path.display()),
        _ => "fix it; until then a running hub keeps the last valid version".to_owned(),
    };
    Finding::bad(CHECK, error.to_string()).fix(fix)
}

/// Other users who could change the files.
fn strangers(path: &Path) -> Option<Finding> {
    let metadata = fs::metadata(path).ok()?;
    let ours = fs::metadata("/proc/self").ok()?.uid();
    let path = path.display();
    if metadata.uid() != ours && metadata.uid() != 0 {
        let message = format!("{path} belongs to another user, who could change what is run");
        return Some(Finding::odd(CHECK, message).fix(format!("take ownership: sudo chown $USER {path}")));
    }
    (metadata.mode() & 0o020 != 0).then(|| {
        let message = format!("{path} is writable by its group, which could change what is run");
        Finding::odd(CHECK, message).fix(format!("chmod g-w {path}"))
    })
}

fn twice(overridden: &Overridden) -> Finding {
    let name = overridden.entry.server.name.as_str();
    let (here, by) = (overridden.entry.file.path.display(), overridden.by.display());
    let message = match overridden.why {
        OverrideReason::Rank => format!("the entry in {here} is overridden by the one in {by}"),
        OverrideReason::Inert => format!("the entry in {here} is not approved; the one in {by} is used"),
    };
    Finding::odd(CHECK, message).about(name).fix("rename or remove one of them")
}
