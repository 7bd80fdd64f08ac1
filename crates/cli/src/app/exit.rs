//! Exit codes and messages of errors.

use std::{io::ErrorKind, process::ExitCode};

use toolbay_config::{ConfigError, EditError};
use toolbay_control::{ControlError, Reason};
use toolbay_protocol::printable::error_chain;

use crate::{
    app::{error::CliError, port_owner::PortOwner},
    term::{
        output::{SCHEMA_VERSION, to_stderr},
        style::clean,
    },
};

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const AUTHORIZATION: u8 = 3;
const UNREACHABLE: u8 = 4;
const TOOL: u8 = 5;
const DENIED: u8 = 6;
const INTERRUPTED: u8 = 130;

/// The only place where an error becomes an exit code.
fn code(error: &CliError) -> u8 {
    match error {
        CliError::Config(_)
        | CliError::Edit(
            EditError::Syntax { .. } | EditError::Shape { .. } | EditError::Unsupported { .. },
        )
        | CliError::Usage { .. }
        | CliError::Unreadable { .. }
        | CliError::Tls { .. }
        | CliError::Exposed { .. }
        | CliError::NoFolder { .. }
        | CliError::Query { .. } => USAGE,
        CliError::Control(control) => match control {
            ControlError::NoHub
            | ControlError::Socket { .. }
            | ControlError::Gone
            | ControlError::Answered { reason: Reason::NotReady, .. } => UNREACHABLE,
            ControlError::Answered { reason: Reason::Denied, .. } => DENIED,
            ControlError::Taken
            | ControlError::Occupied { .. }
            | ControlError::UnsafeDir { .. }
            | ControlError::BadAnswer { .. }
            | ControlError::Answered { .. } => FAILURE,
        },
        CliError::NotRunning { .. }
        | CliError::NotReady { .. }
        | CliError::Absent { .. }
        | CliError::Share(_)
        | CliError::SetAside { .. } => UNREACHABLE,
        CliError::Login { .. } => AUTHORIZATION,
        CliError::Tool { .. } => TOOL,
        CliError::NeedsApproval { .. } => DENIED,
        CliError::Interrupted => INTERRUPTED,
        // The reader of our output has closed the pipe.
        CliError::Io(error) if error.kind() == ErrorKind::BrokenPipe => 0,
        CliError::Edit(_)
        | CliError::Approval(_)
        | CliError::Pins(_)
        | CliError::Audit(_)
        | CliError::AuditNotIntact { .. }
        | CliError::Secrets(_)
        | CliError::HubTokens(_)
        | CliError::Declined
        | CliError::Listen { .. }
        | CliError::Serving { .. }
        | CliError::InForeground { .. }
        | CliError::StillRunning { .. }
        | CliError::Unknown { .. }
        | CliError::UnknownServer { .. }
        | CliError::ElsewhereServer { .. }
        | CliError::Unwell { .. }
        | CliError::InputRequired { .. }
        | CliError::BadResult { .. }
        | CliError::Call { .. }
        | CliError::Save { .. }
        | CliError::Code { .. }
        | CliError::Index { .. }
        | CliError::NothingFound
        | CliError::Io(_) => FAILURE,
    }
}

/// Prints an error and returns its exit code.
pub(crate) fn report(error: &CliError, json: bool) -> ExitCode {
    let code = code(error);
    // No result is not an error, except for the exit code.
    if code != 0 && !matches!(error, CliError::NothingFound) {
        let hint = hint(error);
        if json {
            let error = serde_json::json!({
                "schema_version": SCHEMA_VERSION,
                "error": { "exit_code": code, "message": error_chain(error), "hint": hint },
            });
            to_stderr(&format!("{error}\n"));
        } else {
            to_stderr(&format!("error: {}\n", clean(&error_chain(error))));
            if let Some(hint) = hint {
                to_stderr(&format!("hint: {}\n", clean(&hint)));
            }
        }
    }
    ExitCode::from(code)
}

fn hint(error: &CliError) -> Option<String> {
    match error {
        CliError::Usage { hint, .. } | CliError::Call { hint, .. } | CliError::Absent { hint, .. } => {
            hint.clone()
        }
        CliError::Config(ConfigError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => {
            Some("pass the file with the servers: --config FILE".to_owned())
        }
        CliError::Listen { address, holder, source } if source.kind() == ErrorKind::AddrInUse => {
            let free = std::net::SocketAddr::new(address.ip(), 0);
            Some(if holder.as_ref().is_some_and(PortOwner::is_hub) {
                format!(
                    "a hub is already running there, see `toolbay status`; to run another one, use a free port: --listen {free}"
                )
            } else {
                format!("use a free port: --listen {free}")
            })
        }
        CliError::Edit(EditError::Exists { .. }) => Some("--yes replaces it".to_owned()),
        CliError::NeedsApproval { .. } => {
            Some("`toolbay approve NAME --yes` approves without asking, `toolbay approve --all --yes` approves all".to_owned())
        }
        CliError::Exposed { .. } => {
            let hint = "listen on 127.0.0.1, create a token with `toolbay token create NAME`, require the one of --token-file FILE, or pass --allow-unauthenticated";
            Some(hint.to_owned())
        }
        CliError::Control(ControlError::NoHub) => Some(
            "start one with `toolbay serve --config FILE`, or pass --config FILE to do without".to_owned(),
        ),
        CliError::ElsewhereServer { config, .. } => {
            let config = config.display();
            Some(format!("the running hub has it from {config}: use --config {config}"))
        }
        CliError::Serving { .. } => Some(
            "use that one, or start another beside it with --separate and --listen 127.0.0.1:0".to_owned(),
        ),
        CliError::InForeground { .. } => Some("restart it in its terminal".to_owned()),
        CliError::StillRunning { pid, .. } => {
            Some(format!("`kill -9 {pid}` ends it, and its servers with it"))
        }
        CliError::NotRunning { config } => {
            Some(format!("start one with `toolbay serve --config {}`", config.display()))
        }
        CliError::Control(ControlError::Answered { hint, .. }) => hint.clone(),
        CliError::Unknown { similar, .. } | CliError::UnknownServer { similar, .. }
            if !similar.is_empty() =>
        {
            Some(format!("did you mean `{}`?", similar.join("`, `")))
        }
        CliError::Unknown { missing, .. } if !missing.is_empty() => {
            Some(format!("not ready: {}; see `toolbay status`", missing.join(", ")))
        }
        CliError::UnknownServer { known, .. } if !known.is_empty() => {
            Some(format!("there are: {}", known.join(", ")))
        }
        CliError::Unknown { kind, .. } => Some(format!("see `toolbay {kind}s`")),
        _ => None,
    }
}
