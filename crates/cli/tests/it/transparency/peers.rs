//! The clients and servers that are compared.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use toolbay_testkit::harness::{Client, Hub, Pipe, Setup, TIMEOUT};

use super::{
    MODERN_META, RevisionKind,
    raw::{field, one_line},
};

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How the hub is reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Front {
    Http(RevisionKind),
    Stdio(RevisionKind),
}

/// Something that answers requests.
pub(super) struct Peer {
    revision: RevisionKind,
    link: PeerLink,
    notifications: Vec<String>,
}

enum PeerLink {
    Pipe(Pipe),
    Http(Box<(Client, Hub)>),
}

impl Peer {
    /// A server itself.
    pub(super) fn direct(pipe: Pipe, revision: RevisionKind) -> Result<Self> {
        let mut peer = Self { revision, link: PeerLink::Pipe(pipe), notifications: Vec::new() };
        peer.shake_hands()?;
        Ok(peer)
    }

    /// A hub, once it offers this tool of its server.
    pub(super) fn through(setup: Setup, front: Front, tool: &str) -> Result<Self> {
        let (revision, link) = match front {
            Front::Stdio(revision) => (revision, PeerLink::Pipe(setup.start_stdio()?)),
            Front::Http(revision) => {
                let hub = setup.start()?;
                let client = match revision {
                    RevisionKind::Legacy => hub.client()?,
                    RevisionKind::Modern => Client::new(hub.address()),
                };
                (revision, PeerLink::Http(Box::new((client, hub))))
            }
        };
        let mut peer = Self { revision, link, notifications: Vec::new() };
        if matches!(front, Front::Stdio(_)) {
            peer.shake_hands()?;
        }
        let started = Instant::now();
        while !peer.ask("0", "tools/list", "", r#"{"_meta":{META"a/b":1}}"#)?.contains(tool) {
            ensure!(started.elapsed() < TIMEOUT, "the server is not ready in time");
            std::thread::sleep(Duration::from_millis(10));
        }
        peer.notifications.clear();
        Ok(peer)
    }

    pub(super) fn revision(&self) -> RevisionKind {
        self.revision
    }

    /// Sends a request; gives the answer as it was written.
    pub(super) fn ask(&mut self, id: &str, method: &str, name: &str, params: &str) -> Result<String> {
        let meta = if self.revision == RevisionKind::Modern { MODERN_META } else { "" };
        let params = params.replacen("META", meta, 1).replacen("NAME", name, 1);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        match &mut self.link {
            PeerLink::Pipe(pipe) => pipe.send(&one_line(&text))?,
            PeerLink::Http(pair) => {
                let (client, _) = &mut **pair;
                let uri = field(&params, "uri")?;
                let uri: Option<String> = uri.map(|uri| serde_json::from_str(&uri)).transpose()?;
                let name = uri.as_deref().unwrap_or(name);
                let modern =
                    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)];
                let headers = if self.revision == RevisionKind::Modern { &modern[..] } else { &[] };
                let mut messages = client.post_with(headers, &text)?.messages;
                let answer = messages.pop().context("no answer")?;
                self.notifications.extend(messages);
                return Ok(answer);
            }
        }
        self.answer(id)
    }

    /// What came besides answers since this was last asked.
    pub(super) fn take_notifications(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notifications)
    }

    fn shake_hands(&mut self) -> Result<()> {
        let PeerLink::Pipe(pipe) = &mut self.link else { bail!("a client of HTTP has shaken hands") };
        if self.revision == RevisionKind::Legacy {
            pipe.send(INITIALIZE)?;
            self.answer("\"hello\"")?;
            let PeerLink::Pipe(pipe) = &mut self.link else { bail!("it was a pipe") };
            pipe.send(INITIALIZED)?;
        }
        Ok(())
    }

    /// The answer with this id; notifications before it are kept.
    fn answer(&mut self, id: &str) -> Result<String> {
        let PeerLink::Pipe(pipe) = &mut self.link else { bail!("HTTP has its answers already") };
        loop {
            let line = pipe.line()?;
            if field(&line, "id")?.as_deref() == Some(id) {
                return Ok(line);
            }
            if !line.contains("list_changed") {
                self.notifications.push(line);
            }
        }
    }
}
