//! A WebSocket of a stock library.

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Result, bail};
use tungstenite::{ClientRequestBuilder, Message, WebSocket};

use super::Lines;

/// A client on `/ws`.
pub(in crate::harness) struct WebSocketLines(WebSocket<TcpStream>);

impl WebSocketLines {
    pub(in crate::harness) fn open(address: SocketAddr, timeout: Duration) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let uri = format!("ws://{address}/ws").parse()?;
        let request = ClientRequestBuilder::new(uri).with_sub_protocol("mcp");
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(error) => bail!("no WebSocket: {error}"),
        }
    }
}

impl Lines for WebSocketLines {
    fn send(&mut self, text: &str) -> Result<()> {
        Ok(self.0.send(Message::text(text))?)
    }

    fn line_within(&mut self, timeout: Duration) -> Result<String> {
        self.0.get_ref().set_read_timeout(Some(timeout))?;
        loop {
            match self.0.read()? {
                Message::Text(text) => return Ok(text.to_string()),
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("no text: {other:?}"),
            }
        }
    }
}
