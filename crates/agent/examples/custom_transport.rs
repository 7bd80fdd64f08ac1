//! A server behind a transport that Toolbay does not know: here, lines on a Unix socket.
//!
//! Run it with `cargo run -p toolbay-agent --example custom_transport`. The transport is all of [`Lines`]; what the server
//! offers is then used as if it ran on stdio, restarts included.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
};
use toolbay_agent::{
    Agent, BoxError,
    transport::{CustomConnection, TextChannels, Transport},
};

/// One message per line on a Unix socket.
struct Lines(PathBuf);

impl Transport for Lines {
    fn name(&self) -> &'static str {
        "unix socket"
    }

    fn carry<'a>(&'a self, texts: &'a mut TextChannels) -> CustomConnection<'a> {
        Box::pin(async move {
            let (reader, mut writer) = UnixStream::connect(&self.0).await?.into_split();
            let mut lines = BufReader::new(reader).lines();
            loop {
                tokio::select! {
                    text = texts.next() => match text {
                        Some(text) => writer.write_all(&[&text[..], b"\n"].concat()).await?,
                        None => return Ok(()), // the server is no longer used
                    },
                    line = lines.next_line() => match line? {
                        Some(line) => texts.received(line).await,
                        None => return Err("it hung up".into()),
                    },
                }
            }
        })
    }
}

/// The other end: a server with one tool, as small as a server can be.
async fn serve(listener: UnixListener) -> io::Result<()> {
    loop {
        let (reader, mut writer) = listener.accept().await?.0.into_split();
        let mut lines = BufReader::new(reader).lines();
        while let Some(line) = lines.next_line().await? {
            let asked: Value = serde_json::from_str(&line)?;
            if asked.get("id").is_none() {
                continue;
            }
            let outcome = match asked["method"].as_str() {
                Some("initialize") => {
                    json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "small", "version": "1"}}})
                }
                Some("tools/list") => {
                    json!({"result": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}})
                }
                _ => json!({"error": {"code": -32601, "message": "no such method"}}),
            };
            let mut answer = json!({"jsonrpc": "2.0", "id": asked["id"]});
            answer
                .as_object_mut()
                .expect("it is one")
                .extend(outcome.as_object().cloned().unwrap_or_default());
            writer.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    }
}

/// Starts a host with that server; gives how it is reached and what its tools are called.
pub(crate) async fn tools_behind(socket: PathBuf) -> Result<(&'static str, Vec<String>), BoxError> {
    let listener = UnixListener::bind(&socket)?;
    let agent = Agent::builder().custom_server("small", Arc::new(Lines(socket))).build();
    let agent = tokio::select! {
        served = serve(listener) => return Err(served.map_or_else(Into::into, |()| "the listener ended".into())),
        agent = agent => agent?,
    };
    let transport = agent.status("small")?.transport;
    let tools = agent.all_tools().iter().map(|tool| tool.name().to_owned()).collect();
    agent.shutdown(Duration::from_secs(1)).await;
    Ok((transport, tools))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let socket = std::env::temp_dir().join(format!("toolbay-example-{}.sock", std::process::id()));
    let offered = tools_behind(socket.clone()).await;
    std::fs::remove_file(&socket)?;
    let (transport, tools) = offered?;
    eprintln!("over {transport}: {}", tools.join(", "));
    Ok(())
}
