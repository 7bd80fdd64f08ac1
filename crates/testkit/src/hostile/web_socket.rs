//! The same server on WebSocket, which floods clients with pings after the handshake.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::ExitCode,
    thread,
};

use anyhow::{Context, Result};
use serde_json::Value;
use tungstenite::{
    Message, WebSocket, accept_hdr,
    handshake::server::{ErrorResponse, Request, Response},
};

use super::{append, flags::Flags, listing, message::ParsedRequest, peer::introduction, sleep_forever};
use crate::ping_flood::send_pings;

/// Listens on a port, says on stderr at which URL, and serves every client on a thread of its own.
pub(super) fn serve(flags: Flags, port: u16) -> ExitCode {
    let bound =
        TcpListener::bind(("127.0.0.1", port)).and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = match bound {
        Ok(bound) => bound,
        Err(error) => {
            eprintln!("hostile: cannot listen on port {port}: {error}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("ws://{address}/");
    thread::scope(|scope| {
        for stream in listener.incoming().map_while(Result::ok) {
            let flags = &flags;
            scope.spawn(move || serve_one(flags, stream));
        }
    });
    ExitCode::SUCCESS
}

/// Serves one client until it goes.
fn serve_one(flags: &Flags, stream: TcpStream) -> Result<()> {
    let mut socket = accept_hdr(stream, agree).ok().context("it is no WebSocket")?;
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let message: Value = serde_json::from_str(&text)?;
        let method = message["method"].as_str().unwrap_or_default();
        if let Some(id) = message.get("id") {
            let request = ParsedRequest {
                id: id.to_string(),
                method: method.to_owned(),
                params: message["params"].clone(),
            };
            socket.send(Message::text(answer(flags, &request)))?;
        } else if let (Some(count), "notifications/initialized") = (flags.ws_pings, method) {
            flood(&mut socket, count, flags.received.as_deref())?;
        }
    }
    Ok(())
}

fn answer(flags: &Flags, request: &ParsedRequest) -> String {
    match request.method.as_str() {
        "initialize" => request.result(&introduction().to_string()),
        "ping" => request.result("{}"),
        "tools/list" => listing::answer(&flags.lists, request),
        "tools/call" => request.text("ok"),
        _ => request.error(-32601, "Method not found"),
    }
}

/// Sends pings and reads nothing from then on; writes down how many were taken.
fn flood(socket: &mut WebSocket<TcpStream>, count: usize, log: Option<&Path>) -> Result<()> {
    let sent = send_pings(socket.get_mut(), count, None)?;
    if let Some(file) = log {
        append(file, format!("pings: {sent}").as_bytes());
    }
    sleep_forever()
}

#[expect(clippy::result_large_err, reason = "what the library wants")]
fn agree(_: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    response.headers_mut().insert("sec-websocket-protocol", http::HeaderValue::from_static("mcp"));
    Ok(response)
}
