//! `resources/subscribe` and `resources/unsubscribe` of clients with a handshake.

use std::sync::Arc;

use toolbay_protocol::{ErrorCode, ErrorObject, Request};

use crate::{
    error,
    gateway::Gateway,
    request::{call::FinalResponse, client::RequestClient, serve::Served},
    session::Session,
};

impl Gateway {
    /// Remembers that a session wants to hear of a resource, once its server has agreed.
    pub(crate) fn subscribe(&self, client: &RequestClient, request: &Request) -> Served {
        let (session, uri) = match of(client, request) {
            Ok(of) => of,
            Err(error) => return Served::Known(FinalResponse::error(Some(&request.id), &error)),
        };
        let mut running = match session.enter(&request.id).and_then(|running| {
            session.may_watch()?;
            Ok(running)
        }) {
            Ok(running) => running,
            Err(why) => {
                return Served::Known(FinalResponse::error(Some(&request.id), &error::not_entered(why)));
            }
        };
        let (host, id) = (self.host.clone(), request.id.clone());
        Served::Soon(Box::pin(async move {
            let watched = tokio::select! {
                watched = host.watch(&uri) => watched,
                Ok(()) = &mut running.cancelled => Err(error::cancelled()),
            };
            match watched.and_then(|watched| session.watch(uri, watched).map_err(error::not_entered)) {
                Ok(()) => FinalResponse::result(&id, "{}"),
                Err(error) => FinalResponse::error(Some(&id), &error),
            }
        }))
    }

    /// Forgets it; the server is told when nobody else wants it.
    pub(crate) fn unsubscribe(&self, client: &RequestClient, request: &Request) -> Served {
        Served::Known(match of(client, request) {
            Ok((session, uri)) => {
                session.unwatch(&uri);
                FinalResponse::result(&request.id, "{}")
            }
            Err(error) => FinalResponse::error(Some(&request.id), &error),
        })
    }
}

fn of(client: &RequestClient, request: &Request) -> Result<(Arc<Session>, String), ErrorObject> {
    let bad = |code, message| ErrorObject::new(code, message);
    let uri = request.call.string_param("uri");
    let uri = uri.ok_or_else(|| bad(ErrorCode::INVALID_PARAMS, "`params.uri` is missing or not a string"))?;
    let session = client.session.clone().ok_or_else(|| {
        bad(ErrorCode::INVALID_REQUEST, "subscriptions require a session; send `initialize` first")
    })?;
    Ok((session, uri.into_owned()))
}
