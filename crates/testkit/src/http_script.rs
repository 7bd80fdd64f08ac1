//! An HTTP server that answers byte for byte as a test wants, which real ones are too well-behaved for.

use std::{collections::BTreeMap, future::Future, io, sync::Arc};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::TaskTracker;

/// A server that follows a script. One request per connection.
#[derive(Debug, Clone)]
pub struct HttpScript {
    /// Where it is.
    pub url: String,
    asked: Arc<Mutex<Vec<RecordedRequest>>>,
}

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub struct RecordedRequest {
    /// `POST`, …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Null when there is none, a string when it is not JSON.
    pub body: Value,
}

impl RecordedRequest {
    /// A header, empty when it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The JSON-RPC method, empty when there is none.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// The other end of a request; dropping it closes the connection.
#[derive(Debug)]
pub struct Responder(TcpStream);

impl Responder {
    /// Sends a text as it is.
    pub async fn raw(&mut self, text: &str) {
        self.bytes(text.as_bytes()).await;
    }

    /// Sends bytes as they are; the client may be gone.
    pub async fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// A whole answer.
    pub async fn respond(mut self, status: &str, headers: &[(&str, &str)], body: &str) {
        let mut head =
            format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(&format!("{head}\r\n{body}")).await;
    }

    /// A whole answer in JSON.
    pub async fn json(self, status: &str, body: &Value) {
        self.respond(status, &[("content-type", "application/json")], &body.to_string()).await;
    }

    /// The result of a request.
    pub async fn result(self, asked: &RecordedRequest, result: Value) {
        self.json("200 OK", &serde_json::json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}))
            .await;
    }

    /// The head of a stream of events; it ends when this is dropped.
    pub async fn stream(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n").await;
    }

    /// An event that carries a message.
    pub async fn event(&mut self, message: &Value) {
        self.raw(&format!("event: message\ndata: {message}\n\n")).await;
    }

    /// Waits until the client closes its end.
    pub async fn closed(&mut self) {
        let mut rest = [0; 64];
        while self.0.read(&mut rest).await.is_ok_and(|length| length > 0) {}
    }
}

impl HttpScript {
    /// Serves on a free port of this machine, on `tasks`.
    pub async fn start<F, R>(tasks: &TaskTracker, script: F) -> io::Result<Self>
    where
        F: Fn(RecordedRequest, Responder) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let asked = Arc::<Mutex<Vec<RecordedRequest>>>::default();
        let this = Self { url, asked };
        let (seen, connections) = (this.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, script) = (seen.clone(), script.clone());
                connections.spawn(async move {
                    if let Some(asked) = read(&mut stream).await {
                        seen.asked.lock().push(asked.clone());
                        script(asked, Responder(stream)).await;
                    }
                });
            }
        });
        Ok(this)
    }

    /// What arrived so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.asked.lock().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<RecordedRequest> {
    let mut text = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(length)) = head.parse(&text) {
            let mut asked = RecordedRequest {
                method: head.method?.to_owned(),
                path: head.path?.to_owned(),
                ..RecordedRequest::default()
            };
            for header in head.headers.iter() {
                let value = String::from_utf8_lossy(header.value).into_owned();
                asked.headers.insert(header.name.to_ascii_lowercase(), value);
            }
            let mut body = text.split_off(length);
            let expected = asked.header("content-length").parse().unwrap_or(0);
            while body.len() < expected {
                stream.read_buf(&mut body).await.ok().filter(|length| *length > 0)?;
            }
            asked.body = serde_json::from_slice(&body).unwrap_or_else(|_| match body.is_empty() {
                true => Value::Null,
                false => Value::String(String::from_utf8_lossy(&body).into_owned()),
            });
            return Some(asked);
        }
        stream.read_buf(&mut text).await.ok().filter(|length| *length > 0)?;
    }
}
