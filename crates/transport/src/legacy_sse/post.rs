//! One message of ours on its way to the endpoint.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use tokio::time::{Instant, sleep, timeout};
use toolbay_protocol::{Message, Response};

use crate::http::{
    client::{HttpError, origin_client::OriginClient, response_kind::explain},
    read_body,
};

/// How long a server may take to say that it has a message. Some never do, and answer on the stream all the same.
const ACCEPT: Duration = Duration::from_secs(30);
/// How long what it says with that may take, and how much of it is read, so that the connection can be used again.
const ASIDE: Duration = Duration::from_secs(1);
const MAX_ASIDE: usize = 4 * 1024;
/// How long a server may let nobody in while its stream stands, and how often it is tried meanwhile.
const DRAINING: Duration = Duration::from_secs(10);
const FIRST_KNOCK: Duration = Duration::from_millis(50);
const LAST_KNOCK: Duration = Duration::from_secs(1);

/// A message to be posted.
pub(super) struct Post {
    pub(super) text: Bytes,
    /// Whether the server took messages at this endpoint before.
    pub(super) endpoint_is_known: bool,
    /// Whether the server may have it. Others look when this is not there any more to tell.
    pub(super) may_have_arrived: Arc<AtomicBool>,
}

/// How a server took a message.
pub(super) enum Posted {
    /// Answers come on the stream.
    Accepted,
    /// The answer came at once: it is a refusal.
    Refused(Box<Response>),
    /// It did not take it.
    Failed(HttpError),
}

impl Post {
    pub(super) async fn run(&self, endpoint: &OriginClient) -> Posted {
        let until = Instant::now() + DRAINING;
        let mut delay = FIRST_KNOCK;
        loop {
            self.may_have_arrived.store(true, Relaxed);
            let why = match timeout(ACCEPT, self.send(endpoint)).await {
                Ok(Ok(posted)) => return posted,
                Ok(Err(why)) => why,
                Err(_) => return Posted::Accepted,
            };
            if !matches!(why, HttpError::Unreachable { .. }) {
                return Posted::Failed(why);
            }
            self.may_have_arrived.store(false, Relaxed);
            if Instant::now() >= until {
                return Posted::Failed(why);
            }
            sleep(delay).await;
            delay = (delay * 2).min(LAST_KNOCK);
        }
    }

    async fn send(&self, endpoint: &OriginClient) -> Result<Posted, HttpError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let response = endpoint.send(Method::POST, headers, self.text.clone()).await?;
        match response.status() {
            status if status.is_success() => {
                let _ = read_body(response.into_body(), MAX_ASIDE, ASIDE).await;
                Ok(Posted::Accepted)
            }
            // There is one stream for each endpoint: whoever does not know ours any more has forgotten it.
            StatusCode::NOT_FOUND | StatusCode::GONE if self.endpoint_is_known => {
                Err(HttpError::SessionGone { url: endpoint.shown() })
            }
            _ => match explain(endpoint.shown(), response).await {
                (Some(Message::Response(refusal)), _) => Ok(Posted::Refused(refusal)),
                (_, why) => Err(why),
            },
        }
    }
}
