//! The conversation: what is done with each line.

use std::{sync::Arc, thread};

use serde_json::{Value, json};

use super::{
    flags::{Discover, Flags},
    listing,
    message::ParsedRequest,
    output::Output,
    server_requests::Questions,
    tools,
};

const INITIALIZED: &str = "notifications/initialized";

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) flags: Flags,
    pub(super) output: Output,
    pub(super) questions: Questions,
}

/// What the reading thread does after a line.
#[derive(Debug)]
pub(super) enum Next {
    Read,
    StopReading,
    Exit(u8),
}

impl Peer {
    pub(super) fn new(flags: Flags) -> Self {
        Self { output: Output::new(flags.garbage), questions: Questions::default(), flags }
    }

    pub(super) fn take(self: &Arc<Self>, line: &[u8]) -> Next {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Next::Read };
        if self.flags.never_initialize {
            return Next::Read;
        }
        let Some(method) = message["method"].as_str() else {
            self.questions.answered(&message, line);
            return Next::Read;
        };
        let next = match message.get("id") {
            Some(id) => self.answer(ParsedRequest {
                id: id.to_string(),
                method: method.to_owned(),
                params: message["params"].clone(),
            }),
            None => self.notice(method),
        };
        if self.flags.stop_reading_after.as_deref() == Some(method) { Next::StopReading } else { next }
    }

    fn notice(&self, method: &str) -> Next {
        if method == INITIALIZED && self.flags.close_stdout_after_init {
            self.output.close();
        }
        Next::Read
    }

    fn answer(self: &Arc<Self>, request: ParsedRequest) -> Next {
        match request.method.as_str() {
            "server/discover" => match self.flags.discover {
                Discover::Error => self.output.line(&request.error(-32601, "Method not found")),
                Discover::Ok => self.output.line(&request.result(&discovery().to_string())),
                Discover::Silent => {}
                Discover::Exit => {
                    eprintln!("hostile: unknown method server/discover, giving up");
                    return Next::Exit(1);
                }
            },
            "initialize" => self.output.line(&self.initialize(&request)),
            "ping" => self.output.line(&request.result("{}")),
            "tools/list" => self.output.line(&listing::answer(&self.flags.lists, &request)),
            "tools/call" if request.params["name"] == "stop_reading" => {
                self.output.line(&request.text("ok"));
                return Next::StopReading;
            }
            "tools/call" => {
                let peer = self.clone();
                thread::spawn(move || tools::call(&peer, &request));
            }
            _ => self.output.line(&request.error(-32601, "Method not found")),
        }
        Next::Read
    }

    fn initialize(&self, request: &ParsedRequest) -> String {
        let good = introduction();
        match self.flags.bad_initialize.as_deref() {
            None => request.result(&good.to_string()),
            Some("version") => {
                let mut result = good;
                result["protocolVersion"] = "1999-12-31".into();
                request.result(&result.to_string())
            }
            Some("empty") => request.result("{}"),
            Some("null") => request.result("null"),
            Some("error") => request.error(-32603, "I would rather not"),
            Some("string-id") => {
                let id = format!("\"{}\"", request.id.trim_matches('"'));
                ParsedRequest { id, ..request.clone() }.result(&good.to_string())
            }
            Some(_) => {
                request.result(r#"{"protocolVersion":20251125,"capabilities":[],"serverInfo":"hostile"}"#)
            }
        }
    }
}

/// The result of a good `initialize`.
pub(super) fn introduction() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "hostile", "version": "1.0.0"},
    })
}

fn discovery() -> Value {
    json!({
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "hostile", "version": "1.0.0"}},
    })
}
