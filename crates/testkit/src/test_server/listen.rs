//! Subscriptions of modern revisions.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};
use toolbay_protocol::{Request, Rope, meta, method, notification};
use toolbay_transport::Outgoing;

use super::{change::Change, shared::Shared};

/// Tells of changes until the request is cancelled. Only what is acknowledged is ever sent.
pub(super) async fn listen(shared: &Shared, request: &Request, sink: &mpsc::Sender<Outgoing>) -> Value {
    let mut changes = shared.changes.subscribe();
    let id: Value = serde_json::from_str(request.id.as_raw()).unwrap_or_default();
    let tag = json!({meta::SUBSCRIPTION_ID: id});
    let filter = Filter::of(shared, request);
    let params = json!({"_meta": tag, "notifications": filter.acknowledged()}).to_string();
    let mut text: Rope = notification(method::LISTEN_ACKNOWLEDGED, Some(&params)).into();
    loop {
        if sink.send(Outgoing::to_client(text)).await.is_err() {
            break;
        }
        text = loop {
            match changes.recv().await {
                Ok(change) if filter.wants(&change) => break change.notification(Some(&id)),
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return json!({"_meta": tag}),
            }
        };
    }
    json!({"_meta": tag})
}

/// The changes that a client subscribes to, as far as they exist.
struct Filter {
    tools: bool,
    resources: bool,
    prompts: bool,
    updated: HashSet<String>,
}

impl Filter {
    fn of(shared: &Shared, request: &Request) -> Self {
        let asked = request.call.param("notifications").map(|span| request.call.raw(span));
        let asked: Value = asked.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let uris = asked["resourceSubscriptions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let offers = shared.offers();
        let announced = !offers.announces_tools_only;
        Self {
            tools: asked["toolsListChanged"] == true,
            resources: asked["resourcesListChanged"] == true && announced && offers.has_resources(),
            prompts: asked["promptsListChanged"] == true && announced && offers.has_prompts(),
            updated: uris.iter().filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        }
    }

    fn acknowledged(&self) -> Value {
        let mut agreed = Map::new();
        let lists = [
            ("toolsListChanged", self.tools),
            ("resourcesListChanged", self.resources),
            ("promptsListChanged", self.prompts),
        ];
        for (name, _) in lists.into_iter().filter(|(_, wanted)| *wanted) {
            agreed.insert(name.to_owned(), true.into());
        }
        if !self.updated.is_empty() {
            agreed.insert("resourceSubscriptions".to_owned(), json!(self.updated));
        }
        agreed.into()
    }

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Resources => self.resources,
            Change::Prompts => self.prompts,
            Change::Updated(uri) => self.updated.contains(uri),
            Change::Other { .. } => true,
        }
    }
}
