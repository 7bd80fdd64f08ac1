//! Programs that servers need.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use toolbay_config::{Permission, ServerConfig, ServerEndpoint, server_environment};
use toolbay_supervise::{CommandNotFound, find_command};

use super::report::Finding;
use crate::{app::context::Context, configured::report};

const CHECK: &str = "programs";

/// A program, and those for which it is looked for.
#[derive(Default)]
struct Need {
    found: Option<PathBuf>,
    missing: Option<CommandNotFound>,
    servers: BTreeSet<String>,
}

/// Looks for the programs of all servers that may run.
pub(super) fn check(variables: &BTreeMap<OsString, OsString>, servers: &[&ServerConfig]) -> Vec<Finding> {
    let mut needs: BTreeMap<(String, OsString), Need> = BTreeMap::new();
    for server in servers.iter().filter(|server| server.permission == Permission::Enabled) {
        let ServerEndpoint::Command(command) = &server.endpoint else { continue };
        let env = server_environment(variables, server);
        let path = env.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        for program in [Some(command.command.as_str()), companion(&command.command)].into_iter().flatten() {
            let need = needs.entry((program.to_owned(), path.clone())).or_default();
            need.servers.insert(server.name.as_str().to_owned());
            match find_command(program.as_ref(), &path, command.cwd.as_deref()) {
                Ok(found) => need.found = Some(found),
                Err(missing) => need.missing = Some(missing),
            }
        }
    }
    let found: Vec<String> = needs
        .iter()
        .filter_map(|((program, _), need)| Some((program, need.found.as_ref()?)))
        .map(|(program, found)| match Path::new(program) == found {
            true => program.clone(),
            false => format!("{program} is {}", found.display()),
        })
        .collect();
    let mut findings = Vec::new();
    if !found.is_empty() {
        findings.push(Finding::good(CHECK, found.join(", ")));
    }
    for need in needs.values() {
        if let Some(missing) = &need.missing {
            let servers: Vec<&str> = need.servers.iter().map(String::as_str).collect();
            let message = format!("{missing}; needed by {}", servers.join(", "));
            findings.push(Finding::bad(CHECK, message).fix(missing.hint()));
        }
    }
    findings
}

/// The program that another one depends on.
fn companion(command: &str) -> Option<&'static str> {
    match Path::new(command).file_name()?.to_str()? {
        "npx" | "npm" | "pnpm" | "pnpx" | "yarn" => Some("node"),
        _ => None,
    }
}

/// The servers that built-in ones could take the place of.
pub(super) fn check_built_in(servers: &[&ServerConfig]) -> Option<Finding> {
    let enabled = servers.iter().filter(|server| server.permission == Permission::Enabled);
    let replaced: Vec<String> = enabled
        .filter_map(|server| {
            let built_in = server.as_written().as_built_in()?.server.built_in?;
            Some(format!("{} ({})", server.name, built_in.name()))
        })
        .collect();
    if replaced.is_empty() {
        return None;
    }
    let message = format!("built-in servers can take the place of: {}", replaced.join(", "));
    let fix = "toolbay import --prefer-builtin --replace FILE, with the file that has them";
    Some(Finding::good("built-in", message).fix(fix))
}

/// One finding per server with `--json` and `-v`, else one for all.
pub(super) fn check_versions(context: &Context, servers: &[&ServerConfig]) -> Vec<Finding> {
    let unpinned: Vec<(&str, String)> =
        servers.iter().filter_map(|server| Some((server.name.as_str(), report::warning(server)?))).collect();
    if context.out.json || context.is_verbose() || unpinned.len() < 2 {
        let finding = |(name, message): (&str, String)| {
            Finding::odd("versions", message).fix("add the version to the package in `args`").about(name)
        };
        return unpinned.into_iter().map(finding).collect();
    }
    let all = report::warnings(servers.iter().copied(), false);
    all.into_iter().map(|message| Finding::odd("versions", message)).collect()
}
