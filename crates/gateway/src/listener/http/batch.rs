//! Batches of messages.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use toolbay_access::Access;
use toolbay_protocol::{ErrorCode, ErrorObject, Message, ParseError, Revision, method, parse_batch};

use super::{EarlyResponse, HttpListener, early};
use crate::{
    error,
    gateway::Gateway,
    listener::{
        headers::{self, single},
        response::{HttpResponse, empty, json},
    },
    request::{
        call::{CallStep, FinalResponse},
        client::RequestClient,
        serve::Served,
    },
};

impl HttpListener {
    /// Batches exist in 2025-03-26 only. Each element is checked alone; responses come in the order of the requests.
    pub(super) async fn batch(
        &self,
        body: Bytes,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        let session = self.session(headers, access)?.map(|(_, session)| session);
        let named = single(headers, &headers::PROTOCOL_VERSION).ok().flatten();
        let revision = match (&session, named) {
            (Some(session), _) => Some(session.revision),
            (None, None) => Some(Revision::HTTP_DEFAULT),
            (None, Some(named)) => named.parse().ok(),
        };
        if !revision.is_some_and(|revision| revision.features().has_batches()) {
            return early(StatusCode::BAD_REQUEST, None, &error::malformed(&ParseError::Batch));
        }
        let messages = match parse_batch(body) {
            Ok(messages) => messages,
            Err(why) => return early(StatusCode::BAD_REQUEST, None, &error::malformed(&why)),
        };
        let client = match session {
            Some(session) => RequestClient::of_session(&self.gateway, session, access.clone()),
            None => RequestClient::unknown(&self.gateway, Revision::HTTP_DEFAULT, access.clone()),
        };
        // Whatever belongs to one of its requests would reach the client only with all the responses.
        let client = client.without_events();
        let mut served = Vec::new();
        for message in messages {
            match message {
                Ok(Message::Request(request)) if request.call.method() == method::INITIALIZE => {
                    let error =
                        ErrorObject::new(ErrorCode::INVALID_REQUEST, "`initialize` must not be in a batch");
                    served.push(Served::Known(FinalResponse::error(Some(&request.id), &error)));
                }
                Ok(Message::Request(request)) => served.push(self.gateway.serve(&client, request.into())),
                Ok(Message::Notification(notification)) => {
                    self.notification(&notification, headers, access)?;
                }
                Ok(Message::Response(response)) => {
                    self.response(&response, headers, access)?;
                }
                Err(why) => served.push(Served::Known(FinalResponse::error(None, &error::malformed(&why)))),
            }
        }
        if served.is_empty() {
            return Ok(empty(StatusCode::ACCEPTED));
        }
        let ends = served.into_iter().map(|served| last_step(&self.gateway, served));
        let responses = futures_util::future::join_all(ends).await;
        let mut text = Vec::from(&b"["[..]);
        for (index, response) in responses.into_iter().flatten().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&response.text.into_bytes());
        }
        text.push(b']');
        Ok(json(StatusCode::OK, Bytes::from(text).into()))
    }
}

/// The end of a request in a batch; what happens before is left out.
async fn last_step(gateway: &Arc<Gateway>, mut served: Served) -> Option<FinalResponse> {
    loop {
        match served {
            Served::Known(known) => return Some(known),
            Served::Listening(_) => return None,
            Served::Soon(answer) => return Some(answer.await),
            Served::Later(later) => served = later.serve(gateway).await,
            Served::Recorded(recorded) => served = recorded.serve(gateway).await,
            Served::Running(mut call) => loop {
                if let CallStep::Final(known) = call.next().await {
                    return Some(known);
                }
            },
        }
    }
}
