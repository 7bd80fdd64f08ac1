//! HTTP/1.1 by hand: one connection per request.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// An answer; its body is read as it comes.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
}

/// Sends a request to `url` with these headers.
pub(crate) async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut text = format!("{method} /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("content-type: application/json\r\naccept: application/json, text/event-stream\r\n\r\n");
    text.push_str(body);
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut stream = BufReader::new(stream);
    let status = line(&mut stream).await.split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let line = line(&mut stream).await;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    Answer { status, headers, stream }
}

pub(crate) async fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    send("POST", url, headers, &body.to_string()).await
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The body, as JSON.
    pub(crate) async fn json(mut self) -> Value {
        let length = self.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The next message of a stream; nothing at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            let line = line(&mut self.stream).await;
            if line == "0" {
                return None; // the last chunk
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = stream.read_line(&mut line);
    tokio::time::timeout(Duration::from_secs(30), read).await.unwrap().unwrap();
    assert!(!line.is_empty(), "the connection ended");
    line.trim_end().to_owned()
}
