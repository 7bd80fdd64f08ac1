//! From a request to the text of its answer.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_protocol::{ErrorCode, ErrorObject, Request, Revision, Rope, error, meta, result};
use toolbay_transport::Outgoing;

use super::{
    methods,
    session::{Running, Session},
    shared::Shared,
};

/// A request, with all that is needed to answer it.
pub(super) struct Call {
    pub(super) shared: Arc<Shared>,
    pub(super) session: Arc<Session>,
    pub(super) request: Box<Request>,
    /// Takes what is sent before the answer.
    pub(super) sink: mpsc::Sender<Outgoing>,
    pub(super) running: Running,
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) text: Rope,
    pub(super) error: Option<ErrorCode>,
}

/// A result before it is dressed for its revision.
pub(super) enum Reply {
    Value(Value),
    /// Text that is sent as it is.
    Raw(String),
}

/// Answers; gives nothing when the request was cancelled.
pub(super) async fn respond(call: Call) -> Option<Answered> {
    let spoken = call.shared.settings().spoken.clone();
    let reply = match spoken.revision_of(&call.request, &call.session) {
        Err(refused) => Err(refused),
        Ok(revision) => {
            let work = AssertUnwindSafe(methods::reply(&call, revision)).catch_unwind();
            let reply = tokio::select! {
                biased;
                () = call.running.ended.cancelled() => return None,
                reply = work => reply,
            };
            let panicked = || ErrorObject::new(ErrorCode::INTERNAL_ERROR, "the handler panicked");
            reply.unwrap_or_else(|_| Err(panicked())).map(|reply| dress(reply, revision, &call.shared.name))
        }
    };
    let id = &call.request.id;
    Some(match reply {
        Ok(text) => Answered { text: result(id, &text).into(), error: None },
        Err(told) => Answered { text: error(Some(id), &told).into(), error: Some(told.code) },
    })
}

/// Adds the fields that every result of a modern revision has.
fn dress(reply: Reply, revision: Revision, name: &str) -> String {
    match reply {
        Reply::Raw(text) => text,
        Reply::Value(mut value) => {
            if revision.is_modern() && value.is_object() {
                if value.get("resultType").is_none() {
                    value["resultType"] = "complete".into();
                }
                value["_meta"][meta::SERVER_INFO] = server_info(name);
            }
            value.to_string()
        }
    }
}

pub(super) fn server_info(name: &str) -> Value {
    json!({"name": name, "version": env!("CARGO_PKG_VERSION")})
}
