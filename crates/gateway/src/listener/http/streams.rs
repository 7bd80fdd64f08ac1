//! HTTP responses that are streams of events.

use std::sync::Arc;

use futures_util::stream::unfold;
use http::{HeaderMap, StatusCode};
use toolbay_access::Access;
use toolbay_protocol::{ErrorCode, ErrorObject, Rope};
use toolbay_transport::http::{Body, event, keep_alive};

use crate::{
    capture::{CapturedClient, ClientCapture},
    listener::{
        headers::{self, Unreadable, single},
        http::{Accepts, EarlyResponse, HttpListener, KEEP_ALIVE, accepted, early},
        response::{HttpResponse, not_allowed, sse, too_many},
    },
    request::{
        call::{CallStep, ClientCall},
        subscription::{SessionStream, Subscription},
    },
    session::replay::{ResumedStream, StreamReader, StreamSource, TooManyStreams},
};

impl HttpListener {
    /// The stream of a session for messages that belong to no request.
    pub(super) fn get(&self, headers: &HeaderMap, access: &Arc<Access>) -> EarlyResponse<HttpResponse> {
        if accepted(headers)? == Accepts::Json {
            let error =
                ErrorObject::new(ErrorCode::INVALID_REQUEST, "the client must accept text/event-stream");
            return early(StatusCode::NOT_ACCEPTABLE, None, &error);
        }
        let Some((_, session)) = self.legacy_session(headers, access)? else {
            return Ok(not_allowed("POST"));
        };
        session.touch();
        let capture = ClientCapture::new(&self.gateway.host, CapturedClient::Session(session.clone()));
        let resumed = match single(headers, &headers::LAST_EVENT_ID) {
            Ok(last_event) => last_event.map(|last_event| session.streams.resume(last_event)),
            Err(Unreadable) => Some(ResumedStream::Nothing),
        };
        match resumed {
            Some(ResumedStream::Rest(reader)) => return Ok(capture.capture_response(read(reader))),
            Some(ResumedStream::Nothing) => {
                let message = "the stream of that event is no longer available";
                let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, message);
                return early(StatusCode::BAD_REQUEST, None, &error);
            }
            Some(ResumedStream::NewChanges) | None => {}
        }
        let replaced = session.take_stream();
        let source = StreamSource::Changes(
            SessionStream::open(&self.gateway.host_for(&session.access_in(access.clone())), session.clone()),
            replaced,
        );
        match session.streams.open(source, &session, self.stop.clone(), self.gateway.host.tasks()) {
            Ok(reader) => Ok(capture.capture_response(read(reader))),
            Err(TooManyStreams(_)) => {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "too many streams of this session");
                early(StatusCode::TOO_MANY_REQUESTS, None, &error)
            }
        }
    }

    pub(super) fn listen(&self, subscription: Subscription) -> HttpResponse {
        let Ok(place) = self.gateway.listening.clone().try_acquire_owned() else {
            return too_many("too many subscriptions; try again later", Some(subscription.id()));
        };
        let state = (Some(subscription), self.stop.clone(), place);
        sse(Body::stream(unfold(state, |(subscription, stop, place)| async move {
            let mut subscription = subscription?;
            let text = tokio::select! {
                message = subscription.next() => message.map(event),
                () = tokio::time::sleep(KEEP_ALIVE) => Some(keep_alive()),
                () = stop.cancelled() => None,
            };
            Some(match text {
                Some(text) => (text, (Some(subscription), stop, place)),
                None => (event(subscription.final_result()), (None, stop, place)),
            })
        })))
    }
}

/// The events of a stream that the client can resume.
pub(super) fn read(reader: StreamReader) -> HttpResponse {
    sse(Body::stream(unfold(reader, |mut reader| async move {
        let text = tokio::select! {
            text = reader.next() => text?,
            () = tokio::time::sleep(KEEP_ALIVE) => keep_alive(),
        };
        Some((text, reader))
    })))
}

/// The events of a request, for a client that cannot resume it: when it disconnects, the request is cancelled.
pub(super) fn stream(call: ClientCall, first: Option<Rope>) -> HttpResponse {
    let first = Some(first.map_or_else(keep_alive, event));
    sse(Body::stream(unfold((first, Some(call)), |(first, call)| async move {
        if let Some(first) = first {
            return Some((first, (None, call)));
        }
        let mut call = call?;
        let step = tokio::select! {
            step = call.next() => step,
            () = tokio::time::sleep(KEEP_ALIVE) => return Some((keep_alive(), (None, Some(call)))),
        };
        Some(match step {
            CallStep::Event(text) => (event(text), (None, Some(call))),
            CallStep::Final(known) => (event(known.text), (None, None)),
        })
    })))
}
