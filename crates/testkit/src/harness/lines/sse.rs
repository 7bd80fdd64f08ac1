//! HTTP+SSE of 2024-11-05 by hand.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result, ensure};

use super::Lines;
use crate::harness::http1::Connection;

/// A client with its stream of events, which posts its messages to where the first event says.
pub(in crate::harness) struct SseLines {
    address: SocketAddr,
    endpoint: String,
    stream: Connection,
    posts: Connection,
}

impl SseLines {
    pub(in crate::harness) fn open(address: SocketAddr, timeout: Duration) -> Result<Self> {
        let mut stream = Connection::open(address, timeout)?;
        stream
            .write(&format!("GET /sse HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n"))?;
        let head = stream.head()?;
        ensure!(head.status == 200 && head.is_stream, "no stream of events: {head:?}");
        let endpoint = stream.event()?.context("the stream ended")?;
        ensure!(endpoint.starts_with('/'), "no path: {endpoint}");
        Ok(Self { address, endpoint, stream, posts: Connection::open(address, timeout)? })
    }
}

impl Lines for SseLines {
    fn send(&mut self, text: &str) -> Result<()> {
        let Self { address, endpoint, posts, .. } = self;
        posts.write(&format!(
            "POST {endpoint} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{text}",
            text.len()
        ))?;
        let head = posts.head()?;
        let body = posts.body(&head)?;
        ensure!(head.status == 202, "{head:?}: {}", String::from_utf8_lossy(&body));
        Ok(())
    }

    fn line_within(&mut self, timeout: Duration) -> Result<String> {
        self.stream.socket().set_read_timeout(Some(timeout))?;
        self.stream.event()?.context("the stream ended")
    }
}
