//! WebSocket: one message per text message, in any revision.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, StatusCode, header};
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_access::Access;
use toolbay_protocol::{ErrorCode, ErrorObject};
use toolbay_transport::{
    Connection,
    http::{UpgradedStream, take_over},
    websocket,
};

use crate::{
    connected_clients::ClientTransport,
    gateway::Gateway,
    listener::{
        connection,
        headers::{comma_separated, single},
        http::{EarlyResponse, HttpListener, early},
        response::{HttpResponse, empty, json_error, too_many},
        send_queue::{AHEAD, pass},
    },
    security::principal_usage::Limited,
};

const VERSION: &str = "13";
/// How long the last responses may take to be sent.
const FLUSH: Duration = Duration::from_secs(2);

impl HttpListener {
    /// Makes the connection a WebSocket and serves the client there. Host, Origin and token are judged already.
    pub(super) fn open_ws(
        &self,
        mut request: HttpRequest<Incoming>,
        access: Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        let key = requested_upgrade(request.headers())?;
        let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, key);
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(websocket::SUBPROTOCOL));
        let Ok(place) = self.gateway.web_sockets.clone().try_acquire_owned() else {
            return Err(Box::new(too_many("too many connections; try again later", None)));
        };
        let usage = self.usage(&access, Limited::Connections, None)?;
        let (gateway, stop, cut) = (self.gateway.clone(), self.stop.clone(), CancellationToken::new());
        let taken = take_over(&mut request, cut.clone());
        self.gateway.host.tasks().spawn(async move {
            let taken = tokio::select! {
                taken = taken => taken,
                () = stop.cancelled() => return,
            };
            match taken {
                Ok(stream) => serve(&gateway, stream, access, stop, cut).await,
                Err(error) => {
                    tracing::debug!(%error, "a client disconnected before the WebSocket was established")
                }
            }
            drop((place, usage));
        });
        Ok(response)
    }
}

async fn serve(
    gateway: &Arc<Gateway>,
    stream: UpgradedStream,
    access: Arc<Access>,
    stop: CancellationToken,
    cut: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let client = websocket::accept(stream, gateway.options.limits.max_body, &tasks);
    let (outgoing, texts) = mpsc::channel(AHEAD);
    let connection = Connection { outgoing, incoming: client.incoming };
    let served = async {
        let client = gateway.clients.enter(ClientTransport::WebSocket, access.clone(), None);
        tokio::select! {
            () = connection::run(gateway, connection, client, stop) => {}
            () = access.ended() => return,
        }
        tokio::time::sleep(FLUSH).await;
    };
    let passed_on = async {
        pass(texts, client.outgoing, gateway.options.max_unread).await;
        tasks.close();
        tasks.wait().await;
    };
    tokio::select! {
        () = passed_on => {}
        () = served => {
            cut.cancel(); // a client that does not read its last answers does not get them
            tasks.close();
            tasks.wait().await;
        }
    }
}

/// What proves to the client that we understood, if it asks for a WebSocket as it should.
fn requested_upgrade(headers: &HeaderMap) -> EarlyResponse<HeaderValue> {
    let wants =
        names(headers, &header::UPGRADE, "websocket") && names(headers, &header::CONNECTION, "upgrade");
    if !wants || single(headers, &header::SEC_WEBSOCKET_VERSION) != Ok(Some(VERSION)) {
        let message = "WebSocket version 13 over HTTP/1.1 is required";
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
        let mut response = json_error(StatusCode::UPGRADE_REQUIRED, None, &error);
        response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
        return Err(Box::new(response));
    }
    if !names(headers, &header::SEC_WEBSOCKET_PROTOCOL, websocket::SUBPROTOCOL) {
        let message = "the client must request the subprotocol `mcp` (Sec-WebSocket-Protocol)";
        let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
        return early(StatusCode::BAD_REQUEST, None, &error);
    }
    let key = single(headers, &header::SEC_WEBSOCKET_KEY).ok().flatten().filter(|key| is_key(key));
    key.and_then(|key| HeaderValue::try_from(websocket::accept_key(key.as_bytes())).ok()).map_or_else(
        || {
            let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, "Sec-WebSocket-Key is invalid");
            early(StatusCode::BAD_REQUEST, None, &error)
        },
        Ok,
    )
}

/// Whether one of the words in a header is `word`, in whatever case.
fn names(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    comma_separated(headers, name).any(|found| found.eq_ignore_ascii_case(word))
}

/// 16 bytes in base64.
fn is_key(text: &str) -> bool {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).is_ok_and(|key| key.len() == 16)
}
