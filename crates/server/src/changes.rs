//! ChangeNotifier of a server, announced to the clients that want to know them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use toolbay_protocol::{
    ErrorCode, ErrorObject, ObjectBuilder, Request, RequestId, Rope, meta, method, notification,
};

/// How many changes may wait for a connection. One that falls behind is told that everything may have changed.
const MAX_WAITING: usize = 64;
/// How many resources one client may subscribe to.
const MAX_RESOURCES: usize = 1024;
/// How many `subscriptions/listen` requests one connection may have open.
const MAX_LISTENING: usize = 64;

/// Announces changes of a server to all its clients. Clones announce to the same clients, so the state of a server keeps
/// one for its tools. May be used on any thread, and never blocks.
#[derive(Debug, Clone)]
pub struct ChangeNotifier {
    sender: broadcast::Sender<ServerChange>,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerChange {
    Tools,
    Resources,
    /// The content of one resource.
    Updated(Arc<str>),
}

impl Default for ChangeNotifier {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(MAX_WAITING) }
    }
}

impl ChangeNotifier {
    /// Announces that the list of tools changed.
    pub fn tools_changed(&self) {
        let _ = self.sender.send(ServerChange::Tools); // without connections there is no receiver
    }

    /// Announces that the list of resources changed.
    pub fn resources_changed(&self) {
        let _ = self.sender.send(ServerChange::Resources);
    }

    /// Announces that the content of a resource changed, to the clients that subscribed to it.
    pub fn resource_updated(&self, uri: &str) {
        let _ = self.sender.send(ServerChange::Updated(uri.into()));
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<ServerChange> {
        self.sender.subscribe()
    }
}

/// The changes that one client wants to know.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// Whether the client has a session. Sessions hear of lists without asking.
    has_session: bool,
    /// The resources that the session subscribed to.
    resources: BTreeSet<String>,
    /// What each open `subscriptions/listen` request asks for.
    listening: BTreeMap<String, Filter>,
}

/// What a `subscriptions/listen` request asks for.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    resource_subscriptions: BTreeSet<String>,
}

impl Subscriptions {
    /// Announces changes of lists to the session from now on.
    pub(crate) fn begin_session(&mut self) {
        self.has_session = true;
    }

    /// `resources/subscribe`.
    pub(crate) fn subscribe(&mut self, uri: &str) -> Result<(), ErrorObject> {
        if self.resources.len() >= MAX_RESOURCES && !self.resources.contains(uri) {
            let reason = format!(
                "at most {MAX_RESOURCES} resources can be subscribed to; unsubscribe from others first"
            );
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, reason));
        }
        self.resources.insert(uri.to_owned());
        Ok(())
    }

    /// `resources/unsubscribe`.
    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.resources.remove(uri);
    }

    /// `subscriptions/listen`: returns its acknowledgment. Lasts until the request is canceled.
    pub(crate) fn listen(&mut self, request: &Request) -> Result<Rope, ErrorObject> {
        let invalid = |reason: String| ErrorObject::new(ErrorCode::INVALID_PARAMS, reason);
        let filter = request.call.param("notifications").map_or("{}", |span| request.call.raw(span));
        let mut filter: Filter = serde_json::from_str(filter)
            .map_err(|error| invalid(format!("`params.notifications` cannot be read: {error}")))?;
        while filter.resource_subscriptions.len() > MAX_RESOURCES {
            filter.resource_subscriptions.pop_last(); // the acknowledgment says what is left
        }
        if self.listening.len() >= MAX_LISTENING {
            return Err(invalid(format!(
                "at most {MAX_LISTENING} subscriptions can be open; cancel others first"
            )));
        }
        let fields = ObjectBuilder::new().value("notifications", &filter);
        let acknowledged = tagged(method::LISTEN_ACKNOWLEDGED, fields, request.id.as_raw());
        self.listening.insert(request.id.as_raw().to_owned(), filter);
        Ok(acknowledged)
    }

    /// Ends a `subscriptions/listen` request.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        self.listening.remove(id.as_raw());
    }

    /// Returns the notifications that a change causes.
    pub(crate) fn notifications(&self, change: &ServerChange) -> Vec<Rope> {
        let to_session = match change {
            ServerChange::Tools | ServerChange::Resources => self.has_session,
            ServerChange::Updated(uri) => self.resources.contains(&**uri),
        };
        let session =
            to_session.then(|| notification(change.method(), Some(&change.fields().finish())).into());
        let listening = self.listening.iter().filter(|(_, filter)| filter.wants(change));
        let listening = listening.map(|(id, _)| tagged(change.method(), change.fields(), id));
        session.into_iter().chain(listening).collect()
    }

    /// Returns everything that was subscribed to, for a connection that missed changes.
    pub(crate) fn all(&self) -> Vec<ServerChange> {
        let uris = self.listening.values().flat_map(|filter| &filter.resource_subscriptions);
        let uris: BTreeSet<&String> = uris.chain(&self.resources).collect();
        let updated = uris.into_iter().map(|uri| ServerChange::Updated(uri.as_str().into()));
        [ServerChange::Tools, ServerChange::Resources].into_iter().chain(updated).collect()
    }
}

impl Filter {
    fn wants(&self, change: &ServerChange) -> bool {
        match change {
            ServerChange::Tools => self.tools_list_changed,
            ServerChange::Resources => self.resources_list_changed,
            ServerChange::Updated(uri) => self.resource_subscriptions.contains(&**uri),
        }
    }
}

impl ServerChange {
    fn method(&self) -> &'static str {
        match self {
            Self::Tools => method::TOOLS_CHANGED,
            Self::Resources => method::RESOURCES_CHANGED,
            Self::Updated(_) => method::RESOURCE_UPDATED,
        }
    }

    fn fields(&self) -> ObjectBuilder {
        match self {
            Self::Tools | Self::Resources => ObjectBuilder::new(),
            Self::Updated(uri) => ObjectBuilder::new().string("uri", uri),
        }
    }
}

/// A notification that belongs to a `subscriptions/listen` request.
fn tagged(method: &str, fields: ObjectBuilder, id: &str) -> Rope {
    let meta = ObjectBuilder::new().raw(meta::SUBSCRIPTION_ID, id);
    notification(method, Some(&fields.raw("_meta", &meta.finish()).finish())).into()
}
