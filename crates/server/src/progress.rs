//! Progress notifications of a call.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_protocol::{ObjectBuilder, Request, Rope, meta, method, notification};

/// Reports the progress of a call to its client. May be used on any thread, and never blocks.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    target: Option<(String, mpsc::Sender<Rope>)>,
}

impl Progress {
    /// Towards `notes`, if the client gave a token.
    pub(super) fn of(request: &Request, notifications: &mpsc::Sender<Rope>) -> Self {
        let token = request.call.meta(meta::PROGRESS_TOKEN);
        Self { target: token.map(|token| (request.call.raw(token).to_owned(), notifications.clone())) }
    }

    /// Whether the client wants progress.
    pub fn is_wanted(&self) -> bool {
        self.target.is_some()
    }

    /// Reports that `done` of `total` is done. Numbers must grow from call to call. A report is left out when the client does
    /// not keep up.
    pub fn report(&self, done: u64, total: Option<u64>, message: &str) {
        if !self.is_wanted() {
            return;
        }
        let mut fields = json!({ "progress": done, "message": message });
        if let Some(total) = total {
            fields["total"] = total.into();
        }
        self.send(&fields);
    }

    /// Sends the fields of a progress notification: an object with at least `progress`, to which the token is added. Left out,
    /// as with [`report`](Self::report), when the client does not keep up.
    pub fn send(&self, fields: &Value) {
        let Some((token, notifications)) = &self.target else { return };
        let params = ObjectBuilder::new().raw("progressToken", token).fields_of(&fields.to_string());
        let notification = notification(method::PROGRESS, Some(&params.finish()));
        let _ = notifications.try_send(notification.into()); // full: the next one says more
    }
}
