//! HTTP/1.1 by hand: one connection per request, and nothing that a library would put right.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// No answer may take longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() }
            .header("accept", "application/json, text/event-stream")
    }

    /// A POST to `/mcp`, as clients send it.
    pub(crate) fn post(body: &Value) -> Self {
        Self::post_text(body.to_string())
    }

    pub(crate) fn post_text(body: impl Into<Vec<u8>>) -> Self {
        let mut ask = Self::new("POST", "/mcp").header("content-type", "application/json");
        ask.body = body.into();
        ask
    }

    pub(crate) fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path == path
    }

    /// To another path.
    pub(crate) fn to(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Sets a header in the place of what it was.
    pub(crate) fn header(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    /// Adds a header besides what is there.
    pub(crate) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|header| header.0 != name);
        self
    }

    /// Changes what it says, as JSON.
    pub(crate) fn with_body(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let mut body = serde_json::from_slice(&self.body).unwrap();
        change(&mut body);
        self.body = body.to_string().into_bytes();
        self
    }

    /// Sends the head only, then what `body` says, whatever `content-length` promises.
    pub(crate) async fn open(&self, address: &str) -> BufReader<TcpStream> {
        let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
        self.send_on(&mut stream).await;
        stream
    }

    /// As [`Ask::open`], on a connection that is there.
    pub(crate) async fn send_on(&self, stream: &mut BufReader<TcpStream>) {
        let named = |name: &str| self.headers.iter().any(|header| header.0 == name);
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !named("host") {
            let address = stream.get_ref().peer_addr().unwrap();
            head.push_str(&format!("host: {address}\r\n"));
        }
        if !named("content-length") && !named("transfer-encoding") {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.get_mut().write_all(head.as_bytes()).await.unwrap();
        stream.get_mut().write_all(&self.body).await.unwrap();
    }

    pub(crate) async fn send(&self, address: &str) -> Answer {
        Answer::read(self.open(address).await).await
    }
}

/// An answer; its body is read as it comes.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    /// What arrived of a chunked body and was not read yet.
    text: String,
}

impl Answer {
    pub(crate) async fn read(stream: BufReader<TcpStream>) -> Self {
        Self::try_read(stream).await.expect("an answer")
    }

    /// As [`HttpResponse::read`]; nothing when the connection is cut.
    pub(crate) async fn try_read(mut stream: BufReader<TcpStream>) -> Option<Self> {
        let first = line(&mut stream).await?;
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some(line) = line(&mut stream).await {
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Some(Self { status, headers, stream, text: String::new() })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The body, as JSON.
    pub(crate) async fn json(self) -> Value {
        serde_json::from_slice(&self.body().await).unwrap()
    }

    /// The body.
    pub(crate) async fn body(mut self) -> Vec<u8> {
        let length: usize = self.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        timeout(PATIENCE, self.stream.read_exact(&mut body)).await.unwrap().unwrap();
        body
    }

    /// The connection of an answer without a body.
    pub(crate) fn into_connection(self) -> BufReader<TcpStream> {
        self.stream
    }

    /// The connection, once the body is read.
    pub(crate) async fn into_stream(mut self) -> BufReader<TcpStream> {
        let length: usize = self.header("content-length").unwrap().parse().unwrap();
        timeout(PATIENCE, self.stream.read_exact(&mut vec![0; length])).await.unwrap().unwrap();
        self.stream
    }

    /// The status, and the error code in the body.
    pub(crate) async fn refusal(self) -> (u16, i64) {
        let status = self.status;
        (status, self.json().await["error"]["code"].as_i64().unwrap_or_default())
    }

    /// The next event or comment of a stream, as its text; nothing at its end.
    pub(crate) async fn raw_event(&mut self) -> Option<String> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.text.as_bytes()[searched..].windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.text.split_off(searched + end + 2);
                return Some(std::mem::replace(&mut self.text, rest));
            }
            searched = self.text.len().saturating_sub(1);
            let length = usize::from_str_radix(&line(&mut self.stream).await?, 16).unwrap();
            let mut chunk = vec![0; length + 2];
            timeout(PATIENCE, self.stream.read_exact(&mut chunk)).await.unwrap().ok()?;
            if length == 0 {
                return None;
            }
            self.text.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
        }
    }

    /// The next message of a stream; nothing at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        timeout(PATIENCE, self.next_message()).await.unwrap()
    }

    async fn next_message(&mut self) -> Option<Value> {
        loop {
            let event = self.raw_event().await?;
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            // An event without a message is only there for its id.
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = timeout(PATIENCE, stream.read_line(&mut line)).await.unwrap();
    (read.ok()? > 0).then(|| line.trim_end().to_owned())
}
