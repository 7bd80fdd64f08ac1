//! A client of the hub over HTTP that can also misbehave.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    TIMEOUT,
    http1::{Connection, data_of},
};

const REVISION: &str = "2025-11-25";

/// One client with one connection, kept alive.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    session: Option<String>,
    connection: Option<Connection>,
    next_id: u64,
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The messages in it, each as it was written: one of JSON, any number of a stream of events.
    pub messages: Vec<String>,
    session: Option<String>,
}

/// How a client goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// Closes its side.
    Fin,
    /// Breaks the connection.
    Reset,
}

impl Client {
    /// A client without a session.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, session: None, connection: None, next_id: 0 }
    }

    /// A client that shook hands.
    pub fn open(address: SocketAddr) -> Result<Self> {
        let mut client = Self::new(address);
        let params = json!({ "protocolVersion": REVISION, "capabilities": {},
            "clientInfo": { "name": "harness", "version": "0" } });
        let reply = client.post(&request(&0.into(), "initialize", &params))?;
        client.session = reply.session.clone();
        ensure!(client.session.is_some(), "no session: {reply:?}");
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        client.post(&initialized.to_string())?;
        Ok(client)
    }

    /// Another connection of the same session.
    pub fn same_session(&self) -> Self {
        Self { session: self.session.clone(), ..Self::new(self.address) }
    }

    /// Sends a message and waits for what comes back.
    pub fn post(&mut self, body: &str) -> Result<Reply> {
        self.post_with(&[], body)
    }

    /// As [`Self::post`], with more headers.
    pub fn post_with(&mut self, headers: &[(&str, &str)], body: &str) -> Result<Reply> {
        self.send(headers, body)?;
        self.receive()
    }

    /// Sends a message and waits for nothing.
    pub fn send(&mut self, headers: &[(&str, &str)], body: &str) -> Result<()> {
        let mut text = self.head("POST /mcp");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        self.write(&text)
    }

    /// Waits for the answer to what was sent.
    pub fn receive(&mut self) -> Result<Reply> {
        let connection = self.connection.as_mut().context("nothing was sent")?;
        let head = connection.head()?;
        let body = connection.body(&head)?;
        let text = String::from_utf8(body).context("the answer is not UTF-8")?;
        let messages = match head.is_stream {
            true => data_of(&text).collect(),
            false if text.is_empty() => Vec::new(),
            false => vec![text],
        };
        Ok(Reply { status: head.status, messages, session: head.session })
    }

    /// Sends a request with the next id and gives the whole answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next_id += 1;
        let reply = self.post(&request(&self.next_id.into(), method, params))?;
        let last = reply.messages.last().with_context(|| format!("{method}: no answer: {reply:?}"))?;
        let answer: Value = serde_json::from_str(last).with_context(|| format!("{method}: {last}"))?;
        ensure!(answer["id"] == self.next_id, "{method}: the answer to {} is {answer}", self.next_id);
        Ok(answer)
    }

    /// Calls a tool and gives the whole answer.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that succeeds, and gives its text.
    pub fn text(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let answer = self.call(tool, arguments)?;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.map(str::to_owned).with_context(|| format!("{tool}: {answer}"))
    }

    /// Calls a tool that fails, and gives the message of the error.
    pub fn error(&mut self, tool: &str, arguments: Value) -> Result<String> {
        let answer = self.call(tool, arguments)?;
        let message = answer["error"]["message"].as_str();
        message.map(str::to_owned).with_context(|| format!("{tool} should fail: {answer}"))
    }

    /// Calls a tool and waits for nothing.
    pub fn start_call(&mut self, tool: &str, arguments: Value) -> Result<()> {
        self.next_id += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(&[], &request(&self.next_id.into(), "tools/call", &params))
    }

    /// All pages of `tools/list`.
    pub fn tools(&mut self) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut params = json!({});
        loop {
            let mut answer = self.request("tools/list", &params)?;
            let Value::Array(tools) = answer["result"]["tools"].take() else { bail!("no list: {answer}") };
            all.extend(tools);
            match answer["result"].get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => return Ok(all),
            }
        }
    }

    /// Opens the stream of this client's session.
    pub fn listen(&self) -> Result<Events> {
        let mut listener = self.same_session();
        let head = listener.head("GET /mcp") + "\r\n";
        listener.write(&head)?;
        let mut connection = listener.connection.take().context("just connected")?;
        let head = connection.head()?;
        ensure!(head.status == 200 && head.is_stream, "no stream: {head:?}");
        Ok(Events { connection })
    }

    /// Asks for something that is no MCP.
    pub fn get(&mut self, path: &str) -> Result<Value> {
        let head = self.head(&format!("GET {path}")) + "\r\n";
        self.write(&head)?;
        let reply = self.receive()?;
        Ok(serde_json::from_str(reply.messages.first().map_or("", String::as_str))?)
    }

    /// Goes away, whatever is still to come.
    pub fn disconnect(mut self, how: Disconnect) -> Result<()> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        if how == Disconnect::Reset {
            rustix::net::sockopt::set_socket_linger(connection.socket(), Some(Duration::ZERO))?;
        }
        Ok(())
    }

    fn head(&self, line: &str) -> String {
        let mut head = format!("{line} HTTP/1.1\r\nHost: {}\r\n", self.address);
        head += "Accept: application/json, text/event-stream\r\n";
        if let Some(session) = &self.session {
            head += &format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {REVISION}\r\n");
        }
        head
    }

    fn write(&mut self, text: &str) -> Result<()> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open(self.address, TIMEOUT)?);
        }
        self.connection.as_mut().context("just connected")?.write(text)
    }
}

/// A stream of events, for as long as it lasts.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
}

impl Events {
    /// The messages that come before nothing comes for `quiet`.
    pub fn until_quiet(&mut self, quiet: Duration) -> Result<Vec<String>> {
        self.connection.events_until_quiet(quiet)
    }
}

fn request(id: &Value, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}
