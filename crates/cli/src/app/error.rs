//! Errors of commands.

use std::{io, net::SocketAddr, path::PathBuf};

use strsim::osa_distance;
use toolbay_access::TokenFileError;
use toolbay_config::{ApprovalError, ConfigError, EditError};
use toolbay_control::ControlError;
use toolbay_oauth::OAuthError;
use toolbay_secrets::SecretsError;
use toolbay_transport::http::TlsError;

use crate::app::{port_owner::PortOwner, shared_hub::ShareError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    #[error(transparent)]
    Pins(#[from] toolbay_pins::PinFileError),
    #[error(transparent)]
    Audit(#[from] toolbay_audit::AuditError),
    /// Records were changed or are missing.
    #[error("{count} audit logs are not as they were written")]
    AuditNotIntact { count: usize },
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The file of the hub's tokens.
    #[error(transparent)]
    HubTokens(#[from] TokenFileError),
    /// A login or logout failed.
    #[error("cannot {action} at server `{server}`")]
    Login {
        action: &'static str,
        server: String,
        #[source]
        source: OAuthError,
    },
    /// The arguments are invalid.
    #[error("{message}")]
    Usage { message: String, hint: Option<String> },
    /// The address is in use, or not ours.
    #[error("cannot listen on {address}{}", holder.as_ref().map(|holder| format!(", where {holder} listens")).unwrap_or_default())]
    Listen {
        address: SocketAddr,
        holder: Option<PortOwner>,
        #[source]
        source: io::Error,
    },
    /// A file that was named cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The certificate or its key is of no use.
    #[error("cannot use the certificate {} with the key {}", certificate.display(), key.display())]
    Tls {
        certificate: PathBuf,
        key: PathBuf,
        #[source]
        source: TlsError,
    },
    /// The address is reachable by others.
    #[error("{address} is reachable from other machines, and anyone who reaches it could use every tool")]
    Exposed { address: SocketAddr },
    /// No server has it.
    #[error("no server offers the {kind} `{name}`")]
    Unknown { kind: &'static str, name: String, similar: Vec<String>, missing: Vec<String> },
    /// The hub has no such server.
    #[error("no server named `{name}`")]
    UnknownServer { name: String, similar: Vec<String>, known: Vec<String> },
    /// These files have no such server, but a running hub has it from another one.
    #[error("no server named `{name}` in these files")]
    ElsewhereServer { name: String, config: PathBuf },
    /// A hub is needed that runs with this configuration.
    #[error("no hub is running with {}", config.display())]
    NotRunning { config: PathBuf },
    /// A hub in the foreground serves the same configuration.
    #[error("process {pid} already serves this configuration{}", url.as_ref().map(|url| format!(", at {url}")).unwrap_or_default())]
    Serving { pid: u32, url: Option<String> },
    /// The hub was not started by us, so it cannot be started again.
    #[error("the hub (process {pid}) was started with `toolbay serve`")]
    InForeground { pid: u32 },
    /// The hub did not end in time.
    #[error("the hub (process {pid}) did not end within {} s", limit.as_secs())]
    StillRunning { pid: u32, limit: std::time::Duration },
    #[error(transparent)]
    Share(#[from] ShareError),
    /// A server did not come up.
    #[error("server `{server}` is not ready{}", trouble.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    NotReady { server: String, trouble: Option<String> },
    /// A server that is needed is not up.
    #[error("{message}")]
    Absent { message: String, hint: Option<String> },
    /// The tool, resource or prompt exists but is not available.
    #[error("the {kind} `{name}` of server `{server}` is not offered: {reason}")]
    SetAside { server: String, kind: String, name: String, reason: String },
    /// A call was answered with an error.
    #[error("{message}")]
    Call { message: String, hint: Option<String> },
    /// A file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Save {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// `doctor` found problems; they are on stdout already.
    #[error("{problems} {} found", if *problems == 1 { "problem was" } else { "problems were" })]
    Unwell { problems: usize },
    /// The tool returned an error; its result is on stdout already.
    #[error("tool `{tool}` returned an error")]
    Tool { tool: String },
    /// The tool wants to ask something before it goes on.
    #[error("`{name}` requires input, which is not possible here")]
    InputRequired { name: String },
    /// A result violates the protocol.
    #[error("invalid response: {why}")]
    BadResult { why: String },
    /// The user declined.
    #[error("nothing was changed")]
    Declined,
    /// Servers of the project wait for approval, and there is no terminal to ask on.
    #[error("waiting for approval: {}", servers.join(", "))]
    NeedsApproval { servers: Vec<String> },
    /// The folder to search in is none.
    #[error("cannot read directory `{}`", path.display())]
    NoFolder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A search could not be made.
    #[error("{why}")]
    Code { why: String },
    /// An index could not be made, shown or removed.
    #[error("cannot use the index")]
    Index {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The arguments of a search are invalid.
    #[error("{why}")]
    Query { why: String },
    /// A search found nothing.
    #[error("nothing found")]
    NothingFound,
    #[error("interrupted")]
    Interrupted,
    #[error("I/O error")]
    Io(#[from] io::Error),
}

impl CliError {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: None }
    }
}

/// Up to three of `known` that are close to `name`, the closest first.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    // The prefix before `__` names the server and is mostly right: it must not make different names look similar.
    let allowed = (bare(&name).chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|other| {
            let lower = other.to_lowercase();
            let distance = osa_distance(&name, &lower).min(osa_distance(&name, bare(&lower)));
            let is_part = name.len() >= 3 && lower.contains(&name);
            (distance <= allowed || is_part).then_some((distance, other))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, other)| other.to_owned()).collect()
}

fn bare(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found() {
        let known = ["files__read_file", "files__write_file", "git__log"];
        for (name, expected) in [
            ("files__raed_file", vec!["files__read_file"]),
            ("read_file", vec!["files__read_file"]),
            ("lgo", vec!["git__log"]),
            ("nothing_like_it", vec![]),
        ] {
            assert_eq!(similar(name, known), expected, "{name}");
        }
    }
}
