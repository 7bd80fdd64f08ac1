//! WebSocket: a connection like any other.

use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::handshake::server::{ErrorResponse, Request, Response},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_transport::{stdio::MAX_MESSAGE, ws};

use super::{connection, shared::Shared};

/// Serves until `stop`; connections are closed then.
pub(super) async fn serve(shared: Arc<Shared>, listener: TcpListener, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        if let Ok((stream, _)) = accepted {
            let (shared, stop, connections) = (shared.clone(), stop.clone(), tasks.clone());
            tasks.spawn(async move {
                tokio::select! {
                    () = serve_one(shared, stream, connections) => {}
                    () = stop.cancelled() => {}
                }
            });
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn serve_one(shared: Arc<Shared>, stream: TcpStream, tasks: TaskTracker) {
    let _ = stream.set_nodelay(true); // a slower connection is still one
    if let Ok(socket) = accept_hdr_async(stream, agree).await {
        connection::serve(shared, ws::accept(socket.into_inner(), MAX_MESSAGE, &tasks)).await;
    }
}

#[expect(clippy::result_large_err, reason = "what the library wants")]
fn agree(asked: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    if asked.headers().contains_key("sec-websocket-protocol") {
        let ours = ::http::HeaderValue::from_static(ws::SUBPROTOCOL);
        response.headers_mut().insert("sec-websocket-protocol", ours);
    }
    Ok(response)
}
