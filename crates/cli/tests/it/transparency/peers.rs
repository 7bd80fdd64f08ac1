//! The ends of the ways that are compared.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use toolbay_testkit::harness::{Client, Hub, PATIENCE, Pipe, Setup};

use super::{
    Era, MODERN_META,
    raw::{field, one_line},
};

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#
);
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How the hub is reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum Door {
    Http(Era),
    Stdio(Era),
}

/// Something that answers requests.
pub(super) struct Peer {
    era: Era,
    way: Way,
    notifications: Vec<String>,
}

enum Way {
    Pipe(Pipe),
    Http(Box<(Client, Hub)>),
}

impl Peer {
    /// A server itself.
    pub(super) fn direct(pipe: Pipe, era: Era) -> Result<Self> {
        let mut peer = Self { era, way: Way::Pipe(pipe), notifications: Vec::new() };
        peer.shake_hands()?;
        Ok(peer)
    }

    /// A hub, once it offers this tool of its server.
    pub(super) fn through(setup: Setup, door: Door, tool: &str) -> Result<Self> {
        let (era, way) = match door {
            Door::Stdio(era) => (era, Way::Pipe(setup.start_stdio()?)),
            Door::Http(era) => {
                let hub = setup.start()?;
                let client = match era {
                    Era::Legacy => hub.client()?,
                    Era::Modern => Client::new(hub.address()),
                };
                (era, Way::Http(Box::new((client, hub))))
            }
        };
        let mut peer = Self { era, way, notifications: Vec::new() };
        if matches!(door, Door::Stdio(_)) {
            peer.shake_hands()?;
        }
        let started = Instant::now();
        while !peer.ask("0", "tools/list", "", r#"{"_meta":{META"a/b":1}}"#)?.contains(tool) {
            ensure!(started.elapsed() < PATIENCE, "the server is not ready in time");
            std::thread::sleep(Duration::from_millis(10));
        }
        peer.notifications.clear();
        Ok(peer)
    }

    pub(super) fn era(&self) -> Era {
        self.era
    }

    /// Sends a request; gives the answer as it was written.
    pub(super) fn ask(&mut self, id: &str, method: &str, name: &str, params: &str) -> Result<String> {
        let meta = if self.era == Era::Modern { MODERN_META } else { "" };
        let params = params.replacen("META", meta, 1).replacen("NAME", name, 1);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        match &mut self.way {
            Way::Pipe(pipe) => pipe.send(&one_line(&text))?,
            Way::Http(pair) => {
                let (client, _) = &mut **pair;
                let uri = field(&params, "uri")?;
                let uri: Option<String> = uri.map(|uri| serde_json::from_str(&uri)).transpose()?;
                let name = uri.as_deref().unwrap_or(name);
                let modern =
                    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)];
                let headers = if self.era == Era::Modern { &modern[..] } else { &[] };
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
        let Way::Pipe(pipe) = &mut self.way else { bail!("a client of HTTP has shaken hands") };
        if self.era == Era::Legacy {
            pipe.send(INITIALIZE)?;
            self.answer("\"hello\"")?;
            let Way::Pipe(pipe) = &mut self.way else { bail!("it was a pipe") };
            pipe.send(INITIALIZED)?;
        }
        Ok(())
    }

    /// The answer with this id; notifications before it are kept.
    fn answer(&mut self, id: &str) -> Result<String> {
        let Way::Pipe(pipe) = &mut self.way else { bail!("HTTP has its answers already") };
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
