//! One message per POST.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request as HttpRequest, StatusCode, request::Parts};
use hyper::body::Incoming;
use toolbay_access::Access;
use toolbay_protocol::{
    ErrorObject, Message, Notification, ParseError, Request, RequestId, Response, meta, method,
};
use toolbay_transport::http::read_body;

use crate::{
    capture::{CapturedClient, ClientCapture},
    connected_clients::name_of,
    error,
    listener::{
        headers,
        http::{
            Accepts, EarlyResponse, HttpListener, KEEP_ALIVE, accepted, check_content_type, early,
            streams::{read, stream},
        },
        response::{HttpResponse, empty, final_response, json, json_error, too_many},
    },
    request::{
        call::{CallStep, ClientCall},
        client::{RequestClient, open_session},
        revision::{self, RequestRevision},
        serve::Served,
    },
    security::principal_usage::Limited,
    session::replay::{StreamSource, TooManyStreams},
};

impl HttpListener {
    pub(super) async fn post(
        &self,
        request: HttpRequest<Incoming>,
        access: Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        let (Parts { headers, .. }, body) = request.into_parts();
        check_content_type(&headers)?;
        let accepts = accepted(&headers)?;
        let body = self.read_body(body).await?;
        let message = Message::parse(body.clone());
        let capture = self.capture(&message, &body, &headers, &access);
        let response = match message {
            Ok(Message::Request(request)) => self.request(request, headers, access, accepts).await,
            Ok(Message::Notification(notification)) => self.notification(&notification, &headers, &access),
            Ok(Message::Response(response)) => self.response(&response, &headers, &access),
            Err(ParseError::Batch) => self.batch(body, &headers, &access).await,
            Err(why) => early(StatusCode::BAD_REQUEST, None, &error::malformed(&why)),
        };
        match capture {
            Some(capture) => Ok(capture.capture_response(response.unwrap_or_else(|response| *response))),
            None => response,
        }
    }

    /// Captures the request. Returns none where no message is captured now or before the response is complete.
    fn capture(
        &self,
        message: &Result<Message, ParseError>,
        body: &Bytes,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> Option<Box<ClientCapture>> {
        let is_subscription =
            matches!(message, Ok(Message::Request(request)) if request.call.method() == method::LISTEN);
        if !is_subscription && !self.gateway.host.capture().is_on() {
            return None;
        }
        let info = match message {
            Ok(Message::Request(request)) => {
                let call = &request.call;
                call.meta(meta::CLIENT_INFO).or_else(|| call.param("clientInfo")).map(|info| call.raw(info))
            }
            Ok(Message::Notification(_) | Message::Response(_)) | Err(_) => None,
        };
        let client = match (info, self.session(headers, access)) {
            (None, Ok(Some((_, session)))) => CapturedClient::Session(session),
            (info, _) => CapturedClient::Named(info.and_then(name_of).map(Into::into)),
        };
        let capture = ClientCapture::new(&self.gateway.host, client);
        match message {
            Ok(message) => capture.received(message),
            Err(_) => capture.received_text(body.clone()),
        }
        Some(Box::new(capture))
    }

    /// A whole body, within the limits.
    pub(super) async fn read_body(&self, body: Incoming) -> EarlyResponse<Bytes> {
        let limits = &self.gateway.options.limits;
        read_body(body, limits.max_body, limits.body_timeout).await.or_else(|error| {
            let (status, error) = error::body(&error);
            early(status, None, &error)
        })
    }

    async fn request(
        &self,
        request: Box<Request>,
        headers: HeaderMap,
        access: Arc<Access>,
        accepts: Accepts,
    ) -> EarlyResponse<HttpResponse> {
        let client = match self.client_of(&request, &headers, access)? {
            OpenedPost::Client(client) if accepts == Accepts::Json => client.without_events(),
            OpenedPost::Client(client) => client,
            OpenedPost::Initialized(response) => return Ok(*response),
        };
        let client = client.on_http();
        let features = client.revision.features();
        let mut served = if features.has_mirrored_headers() && request.call.method() == method::TOOLS_CALL {
            self.check_params(&client, &request, &headers).await?;
            match self.gateway.hub_tools.is_on() {
                // Its server was waited for just now.
                false => self.gateway.serve_now(&client, request.into()),
                true => self.gateway.serve(&client, request.into()),
            }
        } else {
            self.gateway.serve(&client, request.into())
        };
        // They keep the buffer of the connection, and while we wait hyper would take another to see whether the client
        // leaves.
        drop(headers);
        loop {
            return Ok(match served {
                Served::Known(known) => final_response(known, features),
                Served::Running(call) => self.run(call, &client, accepts).await,
                Served::Listening(subscription) => self.listen(*subscription),
                Served::Soon(response) => final_response(response.await, features),
                Served::Later(later) => {
                    served = later.serve(&self.gateway).await;
                    continue;
                }
                Served::Recorded(recorded) => {
                    served = recorded.serve(&self.gateway).await;
                    continue;
                }
            });
        }
    }

    /// Runs a call: the response is sent as JSON if it comes first, as part of an event stream otherwise.
    async fn run(&self, mut call: ClientCall, client: &RequestClient, accepts: Accepts) -> HttpResponse {
        loop {
            let step = if accepts == Accepts::Streams {
                tokio::select! {
                    biased;
                    step = call.next() => Some(step),
                    () = tokio::time::sleep(KEEP_ALIVE) => None,
                }
            } else {
                Some(call.next().await)
            };
            let first = match step {
                Some(CallStep::Final(known)) => return final_response(known, client.revision.features()),
                Some(CallStep::Event(_)) if accepts == Accepts::Json => continue,
                Some(CallStep::Event(text)) => Some(text),
                None => None,
            };
            let Some(session) = &client.session else { return stream(call, first) };
            let source = StreamSource::Request(call, first);
            let opened = session.streams.open(source, session, self.stop.clone(), self.gateway.host.tasks());
            return match opened {
                Ok(reader) => read(reader),
                Err(TooManyStreams(StreamSource::Request(call, first))) => stream(call, first),
                Err(TooManyStreams(StreamSource::Changes(..))) => unreachable!("it was a request"),
            };
        }
    }

    /// Identifies the client, by the rules of the request's revision.
    fn client_of(
        &self,
        request: &Request,
        headers: &HeaderMap,
        access: Arc<Access>,
    ) -> EarlyResponse<OpenedPost> {
        let bad = |error: &ErrorObject| json_error(StatusCode::BAD_REQUEST, Some(&request.id), error);
        match revision::revision_of(&request.call, headers).map_err(|error| Box::new(bad(&error)))? {
            RequestRevision::Modern => {
                revision::check_meta(&request.call)
                    .and_then(|()| revision::check_headers(request, headers))
                    .map_err(|error| Box::new(bad(&error)))?;
                let client = RequestClient::of_request(&self.gateway, &request.call, access);
                Ok(OpenedPost::Client(client))
            }
            RequestRevision::Legacy(_) if request.call.method() == method::INITIALIZE => {
                Ok(OpenedPost::Initialized(Box::new(self.initialize(request, access)?)))
            }
            RequestRevision::Legacy(revision) => {
                let client = match self.session(headers, &access)? {
                    Some((_, session)) => RequestClient::of_session(&self.gateway, session, access),
                    None => RequestClient::unknown(&self.gateway, revision, access),
                };
                Ok(OpenedPost::Client(client))
            }
        }
    }

    /// Checks the headers that the tool of a call wants; a tool whose server is starting is waited for.
    async fn check_params(
        &self,
        client: &RequestClient,
        request: &Request,
        headers: &HeaderMap,
    ) -> EarlyResponse<()> {
        let arrival = client.host.arrival(request).map(Box::pin); // rare, and large
        if let Some(arrival) = arrival {
            arrival.await;
        }
        let name = request.call.string_param("name");
        let Some(mirrored) = name.and_then(|name| client.host.header_params(&name)) else {
            return Ok(());
        };
        revision::check_params(request, &mirrored, headers)
            .or_else(|error| early(StatusCode::BAD_REQUEST, Some(&request.id), &error))
    }

    fn initialize(&self, request: &Request, access: Arc<Access>) -> EarlyResponse<HttpResponse> {
        let usage = self.usage(&access, Limited::Sessions, Some(&request.id))?;
        let access = match request.call.param("clientInfo") {
            Some(info) => self.gateway.access_of_client(access, request.call.raw(info)),
            None => access,
        };
        let session = open_session(&request.call, access.clone())
            .or_else(|error| early(StatusCode::BAD_REQUEST, Some(&request.id), &error))?;
        let result = self.gateway.initialize_result(&access, session.revision, &request.call, None);
        let Some(id) = self.gateway.sessions.add(session.clone(), usage) else {
            return Err(Box::new(too_many("too many sessions; try again later", Some(&request.id))));
        };
        self.end_with_access(id, &session);
        let mut response = json(StatusCode::OK, toolbay_protocol::result(&request.id, &result).into());
        if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
            response.headers_mut().insert(headers::SESSION_ID, value);
        }
        Ok(response)
    }

    pub(super) fn notification(
        &self,
        notification: &Notification,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        if let Some((_, session)) = self.session(headers, access)? {
            session.touch();
            if notification.method() == method::CANCELLED {
                let id = notification.param("requestId").map(|span| notification.raw(span));
                if let Some(id) = id.and_then(|id| RequestId::from_raw(id.as_bytes())) {
                    session.cancel(&id);
                }
            }
        }
        Ok(empty(StatusCode::ACCEPTED))
    }

    /// A client's response to a server request.
    pub(super) fn response(
        &self,
        response: &Response,
        headers: &HeaderMap,
        access: &Arc<Access>,
    ) -> EarlyResponse<HttpResponse> {
        if let Some((_, session)) = self.session(headers, access)? {
            session.on_response(response);
        }
        Ok(empty(StatusCode::ACCEPTED))
    }
}

enum OpenedPost {
    Client(RequestClient),
    /// It was `initialize`, and this is the response.
    Initialized(Box<HttpResponse>),
}
