//! One message of ours, from sending it to the end of its response.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tokio::time::{Instant, sleep, timeout};
use toolbay_protocol::{self as protocol, ErrorCode, ErrorObject, Message, RequestId};

use super::{
    HttpError,
    decompress::DecompressedBody,
    headers::SESSION,
    response::{ResponseStream, under},
    session::HttpSession,
};
use crate::http::client::response::{EVENT_STREAM, explain, is_stream, media_type};
use crate::{
    Incoming,
    http::{ReadBodyError, read_body},
};

/// How long a message that wants no response may take to be accepted.
const ACCEPT: Duration = Duration::from_secs(30);
/// How often in a row a stream that broke off is taken up in vain.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// How long a server may refuse connections while a stream is open, and how often it is tried meanwhile.
const RETRY_FOR: Duration = Duration::from_secs(10);
const FIRST_RETRY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A message to be sent.
pub(super) struct Post {
    pub(super) text: Bytes,
    pub(super) headers: HeaderMap,
    /// Set if it wants a response.
    pub(super) id: Option<RequestId>,
    pub(super) begins_session: bool,
}

impl Post {
    /// Sends it and passes on what comes back. The error is one after which it may be sent again.
    pub(super) async fn run(self, link: Arc<HttpSession>) -> Result<(), HttpError> {
        let until = Instant::now() + RETRY_FOR;
        let mut delay = FIRST_RETRY;
        loop {
            let sent = match &self.id {
                Some(id) => self.request(&link, id).await,
                None => self.post_one_way(&link).await,
            };
            match sent {
                // It refuses connections, but a stream is open: it is about to restart, and then works or fails plainly.
                Err(HttpError::Unreachable { .. }) if link.is_open() && Instant::now() < until => {
                    sleep(delay).await;
                    delay = (delay * 2).min(MAX_RETRY_DELAY);
                }
                Err(why) if !why.is_undelivered() => {
                    link.deliver(Incoming::Failed { id: self.id, why }).await;
                    return Ok(());
                }
                sent => return sent,
            }
        }
    }

    async fn post_one_way(&self, link: &HttpSession) -> Result<(), HttpError> {
        let since = Instant::now();
        let sent = timeout(ACCEPT, link.post(self.text.clone(), self.headers.clone())).await;
        let response = sent.map_err(|_| {
            link.timed_out(since);
            HttpError::Slow { url: link.shown(), after: ACCEPT }
        })??;
        match response.status() {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND if self.is_in_session() => {
                Err(HttpError::SessionGone { url: link.shown() })
            }
            _ => Err(explain(link.shown(), response).await.1),
        }
    }

    async fn request(&self, link: &HttpSession, id: &RequestId) -> Result<(), HttpError> {
        let response = link.post(self.text.clone(), self.headers.clone()).await?;
        let mut stream = ResponseStream::new(link, Some(id));
        if !response.status().is_success() {
            return self.refused(link, id, response).await;
        }
        if self.begins_session {
            stream.begins_session(response.headers().get(SESSION).cloned());
        }
        match media_type(&response).as_str() {
            "application/json" => self.take_json(link, &mut stream, response).await,
            EVENT_STREAM => self.take_stream(link, &mut stream, response).await,
            "" => {
                let found = format!("status {} and no content", response.status().as_u16());
                Err(HttpError::ContentType { url: link.shown(), found })
            }
            other => Err(HttpError::ContentType { url: link.shown(), found: format!("`{other}`") }),
        }
    }

    async fn take_json(
        &self,
        link: &HttpSession,
        stream: &mut ResponseStream<'_>,
        response: Response<DecompressedBody>,
    ) -> Result<(), HttpError> {
        let _open = link.opened();
        // The deadline of the call ends this sooner.
        const BODY_TIMEOUT: Duration = Duration::from_secs(600);
        let broken = |reason| Err(HttpError::Broken { url: link.shown(), reason });
        match read_body(response.into_body(), link.max_message(), BODY_TIMEOUT).await {
            Ok(text) => stream.take_only(text).await,
            Err(ReadBodyError::TooLong { limit }) => stream.too_long(limit).await,
            Err(ReadBodyError::TooSlow { limit }) => {
                return Err(HttpError::Slow { url: link.shown(), after: limit });
            }
            Err(ReadBodyError::Broken(error)) => return broken(super::error::reason(&*error)),
        }
        if stream.is_complete() { Ok(()) } else { broken("unexpected response".to_owned()) }
    }

    /// Takes a stream, and in a session takes it up again where it broke off, as long as the server helps.
    async fn take_stream(
        &self,
        link: &HttpSession,
        stream: &mut ResponseStream<'_>,
        response: Response<DecompressedBody>,
    ) -> Result<(), HttpError> {
        let mut ended = stream.take_stream(response.into_body()).await;
        let mut attempts = 0;
        while !stream.is_complete() {
            let broken = HttpError::Broken { url: link.shown(), reason: ended.reason };
            let Some(event) = stream.last_event().filter(|_| self.can_resume(link)).map(str::to_owned) else {
                return Err(broken);
            };
            attempts = if ended.had_events { 0 } else { attempts + 1 };
            if attempts == MAX_ATTEMPTS {
                return Err(broken);
            }
            sleep(stream.retry().unwrap_or(FIRST_DELAY * 2_u32.pow(attempts))).await;
            ended = match link.get(Some(&event)).await {
                Ok(response) if is_stream(&response) => stream.take_stream(response.into_body()).await,
                Ok(response) if response.status().is_server_error() => {
                    nothing(explain(link.shown(), response).await.1)
                }
                Ok(_) => return Err(broken),
                Err(why) => nothing(why),
            };
        }
        Ok(())
    }

    fn can_resume(&self, link: &HttpSession) -> bool {
        link.agreed().revision.is_some()
    }

    /// A refusal that is itself a JSON-RPC error is the response, whatever id it carries; but for one that asks who we are:
    /// that is about us, not about the request.
    async fn refused(
        &self,
        link: &HttpSession,
        id: &RequestId,
        response: Response<DecompressedBody>,
    ) -> Result<(), HttpError> {
        let status = response.status();
        let (refusal, why) = explain(link.shown(), response).await;
        let refusal = match refusal {
            Some(Message::Response(refusal)) => refusal.error().map(|error| (refusal, error)),
            _ => None,
        };
        if self.is_in_session() && ends_session(status, id, refusal.as_ref()) {
            return Err(HttpError::SessionGone { url: link.shown() });
        }
        match refusal {
            Some((refusal, _)) if status != StatusCode::UNAUTHORIZED => {
                link.deliver(Incoming::Message(Message::Response(under(&refusal, id)))).await;
                Ok(())
            }
            _ => Err(why),
        }
    }

    fn is_in_session(&self) -> bool {
        self.headers.contains_key(SESSION)
    }
}

/// Whether a refusal means that there is no such session any more: 404 does, unless it is about the method. Some servers
/// say 400 instead; then the error is about no request, and names the session.
fn ends_session(
    status: StatusCode,
    id: &RequestId,
    refusal: Option<&(Box<protocol::Response>, ErrorObject)>,
) -> bool {
    match (status, refusal) {
        (StatusCode::NOT_FOUND, Some((refusal, error))) => {
            refusal.id.as_ref() != Some(id) || error.code != ErrorCode::METHOD_NOT_FOUND
        }
        (StatusCode::NOT_FOUND, None) => true,
        (StatusCode::BAD_REQUEST, Some((refusal, error))) => {
            refusal.id.is_none() && error.message.to_ascii_lowercase().contains("session")
        }
        _ => false,
    }
}

fn nothing(why: HttpError) -> super::response::StreamEnd {
    super::response::StreamEnd { had_events: false, reason: why.to_string() }
}
