//! WebSocket: a connection like any other.

use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::handshake::server::{ErrorResponse, Request, Response},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_transport::{Connection, stdio::MAX_MESSAGE, websocket};

/// Serves clients, each with `each`, until `stop`; connections are closed then.
pub async fn serve<F, S>(each: F, listener: TcpListener, stop: CancellationToken)
where
    F: Fn(Connection) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = ()> + Send,
{
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        if let Ok((stream, _)) = accepted {
            let (each, stop, connections) = (each.clone(), stop.clone(), tasks.clone());
            tasks.spawn(async move {
                tokio::select! {
                    () = serve_one(each, stream, connections) => {}
                    () = stop.cancelled() => {}
                }
            });
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn serve_one<S: Future<Output = ()>>(
    each: impl Fn(Connection) -> S,
    stream: TcpStream,
    tasks: TaskTracker,
) {
    let _ = stream.set_nodelay(true); // a slower connection is still one
    if let Ok(socket) = accept_hdr_async(stream, agree).await {
        each(websocket::accept(socket.into_inner(), MAX_MESSAGE, &tasks)).await;
    }
}

#[expect(clippy::result_large_err, reason = "what the library wants")]
fn agree(asked: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    if asked.headers().contains_key("sec-websocket-protocol") {
        let ours = ::http::HeaderValue::from_static(websocket::SUBPROTOCOL);
        response.headers_mut().insert("sec-websocket-protocol", ours);
    }
    Ok(response)
}
