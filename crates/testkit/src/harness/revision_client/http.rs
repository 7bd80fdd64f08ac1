//! Streamable HTTP, as each revision has it.

use std::{
    net::{Shutdown, SocketAddr, TcpStream},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use toolbay_protocol::Revision;

use super::{link::Hear, mirrored::Mirrored};
use crate::harness::http1::Connection;

/// How long an idle connection is kept; hubs keep it longer.
const KEPT: Duration = Duration::from_secs(3);

/// A client's way to one address.
#[derive(Debug)]
pub(super) struct HttpLink {
    address: SocketAddr,
    revision: Revision,
    session: Option<String>,
    pub(super) timeout: Duration,
    /// For requests, one after the other.
    connection: Option<Connection>,
    /// For messages while a request runs.
    aside: Option<Connection>,
    /// What a stream that was opened for changes has brought.
    pub(super) heard: Option<mpsc::Receiver<Value>>,
    /// That stream, to end it.
    stream: Option<TcpStream>,
    pub(super) mirrored: Mirrored,
}

impl HttpLink {
    pub(super) fn new(address: SocketAddr, revision: Revision, timeout: Duration) -> Self {
        Self {
            address,
            revision,
            session: None,
            timeout,
            connection: None,
            aside: None,
            heard: None,
            stream: None,
            mirrored: Mirrored::default(),
        }
    }

    pub(super) fn exchange(&mut self, message: &Value, hear: &mut Hear<'_>) -> Result<Value> {
        let kept = self.connection.take();
        let mut connection = self.usable(kept)?;
        connection.write(&self.text_of(message))?;
        let head = connection.head()?;
        if message["method"] == "initialize" {
            self.session = head.session.clone();
        }
        ensure!(head.session.is_none() || !self.revision.is_modern(), "a session in the modern revision");
        let mut answer = None;
        if head.is_stream {
            while let Some(event) = connection.event()? {
                let heard = parse(&event)?;
                if heard.get("method").is_none() && heard["id"] == message["id"] {
                    ensure!(answer.replace(heard).is_none(), "two answers to {message}");
                } else if let Some(reply) = hear(heard)? {
                    self.post(&reply)?;
                }
            }
        } else {
            let body = String::from_utf8(connection.body(&head)?).context("the answer is not UTF-8")?;
            let heard = parse(&body).with_context(|| format!("status {}", head.status))?;
            ensure!(heard["id"] == message["id"], "no answer to {message}: {} {heard}", head.status);
            answer = Some(heard);
        }
        self.connection = Some(connection);
        answer.with_context(|| format!("no answer to {message}"))
    }

    /// Sends a request on a connection of its own.
    pub(super) fn start(&self, message: &Value) -> Result<Connection> {
        let mut connection = self.connect()?;
        connection.write(&self.text_of(message))?;
        Ok(connection)
    }

    /// Sends what has no answer.
    pub(super) fn post(&mut self, message: &Value) -> Result<()> {
        let kept = self.aside.take();
        let mut connection = self.usable(kept)?;
        connection.write(&self.text_of(message))?;
        let head = connection.head()?;
        let body = connection.body(&head)?;
        ensure!(
            head.status == 202,
            "{message} was answered {} {}",
            head.status,
            String::from_utf8_lossy(&body)
        );
        self.aside = Some(connection);
        Ok(())
    }

    /// Opens the stream of a session.
    pub(super) fn open_session_stream(&mut self) -> Result<()> {
        let mut connection = self.connect()?;
        connection.write(&format!("GET /mcp HTTP/1.1\r\n{}\r\n", self.headers(&Value::Null)))?;
        self.follow(connection)
    }

    /// Follows the stream that answers on a connection, for as long as the server keeps it open.
    pub(super) fn follow(&mut self, mut connection: Connection) -> Result<()> {
        let head = connection.head()?;
        if head.status != 200 || !head.is_stream {
            let body = connection.body(&head)?;
            bail!("no stream: {} {}", head.status, String::from_utf8_lossy(&body));
        }
        self.hang_up();
        self.stream = Some(connection.socket().try_clone()?);
        let (sender, heard) = mpsc::sync_channel(1024);
        thread::spawn(move || {
            // Ends with the connection, or when the receiver is gone.
            while let Ok(Some(event)) = connection.event() {
                let Ok(message) = parse(&event) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        self.heard = Some(heard);
        Ok(())
    }

    /// Ends the stream of changes.
    pub(super) fn hang_up(&mut self) {
        self.heard = None;
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both); // the server may have done so before
        }
    }

    /// The connection that was kept, or a new one: servers close idle ones.
    fn usable(&self, kept: Option<Connection>) -> Result<Connection> {
        match kept {
            Some(connection) if connection.written.elapsed() < KEPT => Ok(connection),
            _ => self.connect(),
        }
    }

    fn connect(&self) -> Result<Connection> {
        Connection::open(self.address, self.timeout)
    }

    fn text_of(&self, message: &Value) -> String {
        let body = message.to_string();
        let headers = self.headers(message);
        let length = body.len();
        format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    }

    /// The headers that the revision wants for a message.
    fn headers(&self, message: &Value) -> String {
        let mut headers =
            format!("Host: {}\r\nAccept: application/json, text/event-stream\r\n", self.address);
        if let Some(session) = &self.session {
            headers += &format!("Mcp-Session-Id: {session}\r\n");
        }
        let agreed = self.revision.is_modern() || self.session.is_some();
        if agreed && self.revision >= Revision::V2025_06_18 {
            headers += &format!("MCP-Protocol-Version: {}\r\n", self.revision);
        }
        if self.revision.is_modern() {
            let params = &message["params"];
            let method = message["method"].as_str().unwrap_or_default();
            headers += &format!("Mcp-Method: {method}\r\n");
            let name = match method {
                "tools/call" | "prompts/get" => params["name"].as_str(),
                "resources/read" => params["uri"].as_str(),
                _ => None,
            };
            headers.extend(name.map(|name| format!("Mcp-Name: {name}\r\n")));
            if method == "tools/call" {
                headers += &self.mirrored.headers(params);
            }
        }
        headers
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.hang_up();
    }
}

/// The answer on a connection, however it is written.
pub(super) fn answer(connection: &mut Connection) -> Result<Value> {
    let head = connection.head()?;
    if !head.is_stream {
        let body = String::from_utf8(connection.body(&head)?).context("the answer is not UTF-8")?;
        return parse(&body).with_context(|| format!("status {}", head.status));
    }
    loop {
        let heard = parse(&connection.event()?.context("the stream ended")?)?;
        if heard.get("method").is_none() {
            return Ok(heard);
        }
    }
}

/// The next message of the stream that answers on a connection.
pub(super) fn next_event(connection: &mut Connection) -> Result<Value> {
    if !connection.is_streaming {
        let head = connection.head()?;
        ensure!(head.status == 200 && head.is_stream, "no stream: {head:?}");
        connection.is_streaming = true;
    }
    parse(&connection.event()?.context("the stream ended")?)
}

fn parse(text: &str) -> Result<Value> {
    let message: Value = serde_json::from_str(text).with_context(|| format!("no message: {text:?}"))?;
    ensure!(message["jsonrpc"] == "2.0", "no message: {text:?}");
    Ok(message)
}
