//! Detection of hubs that are servers of themselves.
//!
//! An entry that obviously starts the hub that reads it is disabled before anything runs. Other cycles are detected by the hubs when they
//! connect ([`HubChain`]), and a process that would start the servers of a hub above it refuses to.

use std::{
    ffi::OsStr,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::Parser;
use http::Uri;
use sha2::{Digest, Sha256};
use toolbay_config::{Listen, ServerConfig, ServerEndpoint};
use toolbay_host::{HubChain, MAX_HUBS};

use crate::{
    app::{context::Context, error::CliError},
    args::{Command, LowArgs},
};

/// The message for an entry that is the hub which reads it.
pub(crate) const ITSELF: &str = "it is this hub itself, so it is not started; remove the entry";

/// The files and addresses of a hub, before it runs.
#[derive(Debug, Clone)]
pub(crate) struct OwnHub {
    /// The file that was named with `--config`, in full.
    pub(crate) named: Option<PathBuf>,
    /// The folder that it is started in.
    pub(crate) folder: PathBuf,
    /// The addresses that it listens on, as far as they are known.
    pub(crate) addresses: Vec<SocketAddr>,
}

impl OwnHub {
    /// The same hub, which listens at the addresses of a configuration, too.
    pub(crate) fn listening(&self, listen: &[Listen]) -> Self {
        let mut own = self.clone();
        own.addresses.extend(listen.iter().filter_map(|listen| match listen {
            Listen::Http(address) => Some(*address),
            Listen::Unix(_) => None,
        }));
        own
    }

    /// Whether a server is this hub.
    pub(crate) fn is(&self, server: &ServerConfig) -> bool {
        match &server.endpoint {
            ServerEndpoint::Command(command) => {
                let args = command.args.iter().map(OsStr::new);
                self.is_started_by(Path::new(&command.command), args, command.cwd.as_deref())
            }
            ServerEndpoint::Url(remote) => self.is_at(&remote.url),
            ServerEndpoint::BuiltIn(_) => false,
        }
    }

    /// Whether a command starts this hub on stdin and stdout.
    fn is_started_by<'a>(
        &self,
        command: &Path,
        args: impl Iterator<Item = &'a OsStr>,
        cwd: Option<&Path>,
    ) -> bool {
        if command.file_name() != Some(OsStr::new(env!("CARGO_PKG_NAME"))) {
            return false;
        }
        let typed = [OsStr::new(env!("CARGO_PKG_NAME"))].into_iter().chain(args);
        let Ok(typed) = LowArgs::try_parse_from(typed) else { return false };
        if !matches!(typed.command, None | Some(Command::Stdio(_))) {
            return false;
        }
        let folder = cwd.unwrap_or(&self.folder);
        match (&typed.global.config, &self.named) {
            (Some(theirs), Some(ours)) => folder.join(theirs).canonicalize().is_ok_and(|file| file == *ours),
            // Each folder may have files of its own.
            (None, None) => folder == self.folder,
            _ => false,
        }
    }

    /// Whether a URL is that of this hub.
    fn is_at(&self, url: &Uri) -> bool {
        let Some(host) = url.host() else { return false };
        let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let named: Option<IpAddr> = host.parse().ok();
        let is_loopback = host == "localhost" || named.is_some_and(|ip| ip.is_loopback());
        self.addresses.iter().any(|ours| {
            let is_here = ours.ip().is_loopback() || ours.ip().is_unspecified();
            ours.port() == port && (named == Some(ours.ip()) || is_loopback && is_here)
        })
    }
}

/// The hubs that this process was started through, and the one that it is: of these files.
pub(crate) fn chain(context: &Context, files: &[PathBuf]) -> HubChain {
    let mut instance = [0; 6];
    // Without randomness it is still known which files it has.
    let _ = getrandom::fill(&mut instance);
    let id = format!("{}-{}", configuration_id(files), hex(&instance));
    HubChain::new(&above(context), &id)
}

/// Refuses to start the servers of a hub that this process was started by, or too deep below others.
pub(crate) fn refuse(chain: &HubChain) -> Result<(), CliError> {
    let of = |id: &str| id.split_once('-').map_or(id, |(configuration, _)| configuration).to_owned();
    if chain.before().iter().any(|id| of(id) == of(chain.id())) {
        return Err(CliError::Usage {
            message: "this hub was started by a hub with the same configuration: it would serve itself"
                .to_owned(),
            hint: Some("remove the entry that starts it, or give it another --config".to_owned()),
        });
    }
    match chain.before().len() {
        hubs if hubs < MAX_HUBS => Ok(()),
        hubs => Err(CliError::usage(format!(
            "this hub was started through a chain of {hubs} hubs; at most {MAX_HUBS} may be chained"
        ))),
    }
}

fn above(context: &Context) -> String {
    let above = context.env.variables.get(OsStr::new(HubChain::VARIABLE));
    above.and_then(|above| above.to_str()).unwrap_or_default().to_owned()
}

/// The same for hubs that read the same files.
fn configuration_id(files: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize()[..6])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(entry: &str) -> ServerConfig {
        let text = format!("{{\"mcpServers\": {{\"x\": {entry}}}}}");
        toolbay_config::parse(&text, Path::new("/x.json")).unwrap().servers.remove(0)
    }

    #[test]
    fn the_hub_itself_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("a.json");
        std::fs::write(&file, "{}").unwrap();
        let path = file.display();
        let folder = file.parent().unwrap().to_owned();
        let named = OwnHub { named: Some(file.clone()), folder: folder.clone(), addresses: Vec::new() };
        let unnamed = OwnHub { folder, addresses: vec!["127.0.0.1:4100".parse().unwrap()], named: None };
        for (entry, is_named, is_unnamed) in [
            (
                format!(r#"{{"command": "/usr/bin/toolbay", "args": ["stdio", "--config", "{path}"]}}"#),
                true,
                false,
            ),
            (format!(r#"{{"command": "toolbay", "args": ["--config={path}"]}}"#), true, false),
            (r#"{"command": "toolbay", "args": ["stdio", "-c", "a.json"]}"#.to_owned(), true, false),
            (r#"{"command": "toolbay"}"#.to_owned(), false, true),
            (r#"{"command": "toolbay", "args": ["stdio", "--alone"]}"#.to_owned(), false, true),
            (r#"{"command": "toolbay", "cwd": "/"}"#.to_owned(), false, false),
            (
                r#"{"command": "toolbay", "args": ["stdio", "--config", "/other.json"]}"#.to_owned(),
                false,
                false,
            ),
            (r#"{"command": "toolbay", "args": ["codebase"]}"#.to_owned(), false, false),
            (r#"{"command": "toolbay", "args": ["connect", "http://x/"]}"#.to_owned(), false, false),
            (r#"{"command": "other"}"#.to_owned(), false, false),
            (r#"{"url": "http://localhost:4100/mcp"}"#.to_owned(), false, true),
            (r#"{"url": "http://127.0.0.1:4100/sse"}"#.to_owned(), false, true),
            (r#"{"url": "http://127.0.0.1:4101/mcp"}"#.to_owned(), false, false),
            (r#"{"url": "http://example.com:4100/mcp"}"#.to_owned(), false, false),
        ] {
            let server = server(&entry);
            assert_eq!((named.is(&server), unnamed.is(&server)), (is_named, is_unnamed), "{entry}");
        }
    }

    #[test]
    fn a_process_below_a_hub_of_the_same_files_is_refused() {
        let id = |files: &[&str]| configuration_id(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        let (one, other) = (id(&["/a"]), id(&["/b"]));
        assert!(refuse(&HubChain::new("", &format!("{one}-1"))).is_ok());
        assert!(refuse(&HubChain::new(&format!("{other}-1"), &format!("{one}-2"))).is_ok());
        assert!(refuse(&HubChain::new(&format!("{one}-1,{other}-2"), &format!("{one}-3"))).is_err());
        let eight: Vec<String> = (0..8).map(|number| format!("{number}-{number}")).collect();
        let error = refuse(&HubChain::new(&eight.join(","), &format!("{one}-9"))).unwrap_err();
        assert!(error.to_string().contains("chain of 8 hubs"), "{error}");
    }
}
