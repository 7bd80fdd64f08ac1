//! The request with which a WebSocket begins, client side.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{
        CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
        UPGRADE,
    },
};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_util::task::TaskTracker;

use super::{SUBPROTOCOL, accept_key};
use crate::http::client::{
    HttpError, Target, error::reason, origin_client::OriginClient, pool::Purpose, response_kind::explain,
};

/// Connects, and makes a WebSocket of the connection.
pub(super) async fn upgrade(target: &Target, tasks: &TaskTracker) -> Result<TokioIo<Upgraded>, HttpError> {
    let caller = OriginClient::new(target.clone(), Purpose::Upgrade, tasks);
    let key = generate_key();
    let response = caller.send(Method::GET, headers(&key), Bytes::new()).await?;
    let url = caller.shown();
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let (_, why) = explain(url, response).await;
        return Err(why);
    }
    let garbled = |reason: String| HttpError::Garbled { url: caller.shown(), reason };
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.map(HeaderValue::as_bytes) != Some(accept_key(key.as_bytes()).as_bytes()) {
        return Err(garbled("its WebSocket handshake response is invalid".to_owned()));
    }
    // Many servers name no subprotocol; one that names another speaks something else.
    if let Some(chosen) = response.headers().get(SEC_WEBSOCKET_PROTOCOL)
        && chosen != SUBPROTOCOL
    {
        return Err(garbled(format!("it speaks {chosen:?} over WebSocket, not `{SUBPROTOCOL}`")));
    }
    match hyper::upgrade::on(response).await {
        Ok(upgraded) => Ok(TokioIo::new(upgraded)),
        Err(error) => Err(HttpError::Broken { url, reason: reason(&error) }),
    }
}

fn headers(key: &str) -> HeaderMap {
    let key = HeaderValue::from_str(key).expect("Base64 fits into a header");
    HeaderMap::from_iter([
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL)),
        (SEC_WEBSOCKET_KEY, key),
    ])
}
