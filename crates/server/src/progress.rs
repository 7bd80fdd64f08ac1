//! How far a call is, told to whoever asked.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbay_protocol::{Request, Rope, meta, method, notification};

/// Where a call tells how far it is. May be used on any thread; nobody waits for it.
#[derive(Debug, Clone)]
pub struct Progress {
    told: Option<(String, mpsc::Sender<Rope>)>,
}

impl Progress {
    /// For a call about whose progress nobody wants to know.
    pub fn unheard() -> Self {
        Self { told: None }
    }

    /// Towards `notes`, if the client gave a token.
    pub(super) fn of(request: &Request, notes: &mpsc::Sender<Rope>) -> Self {
        let token = request.call.meta(meta::PROGRESS_TOKEN);
        Self { told: token.map(|token| (request.call.raw(token).to_owned(), notes.clone())) }
    }

    /// Whether the client asked for progress.
    pub fn is_wanted(&self) -> bool {
        self.told.is_some()
    }

    /// Tells that `done` of `total` is done. Numbers must only ever grow; what nobody has time to hear is left out.
    pub fn tell(&self, done: u64, total: Option<u64>, message: &str) {
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
    /// as with [`tell`](Self::tell), when the client does not keep up.
    pub fn send(&self, fields: &Value) {
        let Some((token, notes)) = &self.told else { return };
        let fields = fields.to_string();
        let fields = fields.strip_prefix('{').unwrap_or_default();
        let note = notification(method::PROGRESS, Some(&format!("{{\"progressToken\":{token},{fields}")));
        let _ = notes.try_send(note.into()); // full: the next one says more
    }
}
