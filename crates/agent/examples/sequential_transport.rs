//! A transport that can only send or receive at a time, wrapped with `one_by_one`: here, to a server that is a function.
//!
//! Run it with `cargo run -p toolbay-agent --example sequential_transport`.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_agent::{
    BoxError, BoxFuture, Client,
    message::{ErrorCode, ErrorObject, Message},
    transport::{MessageTransport, one_by_one},
};

/// A connection; messages are JSON texts.
struct Loopback {
    responses: (mpsc::Sender<String>, mpsc::Receiver<String>),
    is_open: bool,
}

impl MessageTransport for Loopback {
    fn send(&mut self, message: String) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            if let Some(response) = respond(&message)? {
                self.responses.0.send(response.to_string()).await?;
            }
            Ok(())
        })
    }

    fn receive(&mut self) -> BoxFuture<'_, Result<String, BoxError>> {
        // `recv` is cancel safe: a future that is dropped takes no message with it.
        Box::pin(async move { self.responses.1.recv().await.ok_or_else(|| "the server hung up".into()) })
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            self.is_open = false;
            Ok(())
        })
    }

    fn is_connected(&self) -> bool {
        self.is_open
    }
}

/// The response of a server with one tool; none to a notification.
fn respond(text: &str) -> Result<Option<Message>, BoxError> {
    let Message::Request(request) = Message::parse(text.to_owned().into())? else { return Ok(None) };
    let result = match request.call.method() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "Hello!"}]}),
        _ => {
            let unknown = ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, "no such method");
            return Ok(Some(Message::error(request.id, &unknown)?));
        }
    };
    Ok(Some(Message::result(request.id, result)?))
}

/// Connects to that server and calls its tool.
pub(crate) async fn greeting() -> Result<String, BoxError> {
    let transport = one_by_one("loopback", || {
        let connection = Loopback { responses: mpsc::channel(8), is_open: true };
        Box::pin(async { Ok(Box::new(connection) as Box<dyn MessageTransport>) })
    });
    let client = Client::transport(transport).connect().await?;
    let greeting = client.call_tool("greet", Value::Null).await?.to_text();
    client.close().await;
    Ok(greeting)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    eprintln!("{}", greeting().await?);
    Ok(())
}
