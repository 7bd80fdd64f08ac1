//! A connection to a hub as any MCP client has it, for one call: with progress, log messages and requests of the server.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use toolbay_control::{ControlClient, ControlError};
use toolbay_gateway::{ATTACH, Attach, Gateway, GatewayOptions};
use toolbay_protocol::{
    ErrorCode, ErrorObject, Message, Notification, Request, RequestId, Response, Revision, error, method,
    notification, request, result,
};
use toolbay_transport::{
    Connection, Incoming, memory,
    stdio::{MAX_MESSAGE, connect},
};

use super::{form, progress::CallProgress};
use crate::{
    app::{context::Context, error::CliError, session::Session},
    term::confirm::can_ask,
};

/// How often the line about progress is redrawn.
const TICK: Duration = Duration::from_millis(200);

/// A client of a hub.
#[derive(Debug)]
pub(super) struct HubConnection<'a> {
    context: &'a Context,
    wire: Connection,
    /// The name of the server that is called, for messages.
    server: String,
    next_id: u64,
    /// The tasks of the connection; they end with it.
    _tasks: TaskTracker,
}

impl<'a> HubConnection<'a> {
    /// Connects and shakes hands; nothing where the hub has no place for MCP clients.
    pub(super) async fn open(
        context: &'a Context,
        session: &Session<'_>,
        server: &str,
    ) -> Result<Option<Self>, CliError> {
        let tasks = TaskTracker::new();
        let wire = match &session.client {
            hub @ ControlClient::Remote(_) => match hub.attach().await {
                Ok(stream) => {
                    let (reader, writer) = stream.into_split();
                    connect(reader, writer, MAX_MESSAGE, &tasks)
                }
                Err(ControlError::NoHub) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
            ControlClient::Local(api) => {
                let (ours, theirs) = memory::pair(&tasks);
                let gateway = match &session.gateway {
                    Some(gateway) => gateway.clone(),
                    None => Gateway::new(api.host().clone(), GatewayOptions::default()),
                };
                // Ends when our half does.
                tasks.spawn(async move { gateway.serve_connection(theirs, CancellationToken::new()).await });
                ours
            }
        };
        let server = server.to_owned();
        let mut connection = Self { context, wire, server, next_id: 0, _tasks: tasks };
        let profile = session.profile().map(str::to_owned);
        if session.root.is_some() || profile.is_some() {
            let attach = Attach { root: session.root.clone(), profile, ..Attach::default() };
            let params = serde_json::to_string(&attach).map_err(std::io::Error::other)?;
            connection.send(notification(ATTACH, Some(&params))).await?;
        }
        connection.shake_hands().await?;
        Ok(Some(connection))
    }

    async fn shake_hands(&mut self) -> Result<(), CliError> {
        // Elicitation is offered to servers only if the user can be asked.
        let capabilities = match can_ask(self.context) {
            true => json!({ "elicitation": { "form": {}, "url": {} } }),
            false => json!({}),
        };
        let params = json!({
            "protocolVersion": Revision::LATEST_LEGACY.as_str(),
            "capabilities": capabilities,
            "clientInfo": { "name": "toolbay-cli", "version": env!("CARGO_PKG_VERSION") },
        });
        let mut silent = CallProgress::silent();
        self.ask(method::INITIALIZE, &params.to_string(), &mut silent).await?.map_err(refused)?;
        self.send(notification(method::INITIALIZED, None)).await?;
        if self.context.args.global.verbose > 0 {
            let level = json!({ "level": "debug" }).to_string();
            // A hub whose servers write no log messages may not know it.
            let _ = self.ask(method::SET_LEVEL, &level, &mut silent).await?;
        }
        Ok(())
    }

    /// Sends a request and returns the text of its result, or the error. Progress and log messages are shown, and server requests
    /// are answered.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        params: &str,
        progress: &mut CallProgress,
    ) -> Result<Result<String, ErrorObject>, CliError> {
        let id = RequestId::from(self.next_id);
        self.next_id += 1;
        self.send(request(&id, method, Some(params))).await?;
        loop {
            let incoming = tokio::select! {
                incoming = self.wire.incoming.recv() => incoming,
                () = tokio::time::sleep(TICK) => {
                    progress.tick();
                    continue;
                }
            };
            match incoming.ok_or(ControlError::Gone)? {
                Incoming::Message(Message::Notification(notification)) => {
                    self.on_notification(&notification, progress)
                }
                Incoming::Message(Message::Request(request)) => {
                    progress.pause();
                    let response = self.respond(&request).await?;
                    self.send(response).await?;
                }
                Incoming::Message(Message::Response(response)) if response.id.as_ref() == Some(&id) => {
                    progress.pause();
                    return Ok(outcome(&response));
                }
                _ => {}
            }
        }
    }

    fn on_notification(&self, notification: &Notification, progress: &mut CallProgress) {
        let params =
            || serde_json::from_str::<Value>(notification.params_text().unwrap_or("{}")).unwrap_or_default();
        match notification.method() {
            method::PROGRESS => progress.step(&params()),
            method::LOG_MESSAGE => progress.log(&self.server, &params()),
            _ => {}
        }
    }

    /// The response to a server request.
    async fn respond(&self, request: &Request) -> Result<bytes::Bytes, CliError> {
        let params = serde_json::from_str(request.call.params_text().unwrap_or("{}")).unwrap_or_default();
        Ok(match request.call.method() {
            method::ELICIT => {
                result(&request.id, &form::elicit(self.context, &self.server, &params).await?.to_string())
            }
            method::PING => result(&request.id, "{}"),
            other => {
                let message = format!("`toolbay call` does not support `{other}`");
                error(Some(&request.id), &ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message))
            }
        })
    }

    async fn send(&self, text: bytes::Bytes) -> Result<(), CliError> {
        self.wire.outgoing.send(text.into()).await.map_err(|_| ControlError::Gone.into())
    }
}

fn outcome(response: &Response) -> Result<String, ErrorObject> {
    match (response.result_text(), response.error()) {
        (Some(text), _) => Ok(text.to_owned()),
        (None, Some(error)) => Err(error),
        (None, None) => Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "cannot parse the response")),
    }
}

fn refused(error: ErrorObject) -> CliError {
    CliError::BadResult { why: format!("the hub refused the connection: {}", error.message) }
}
