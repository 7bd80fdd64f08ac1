//! A running server, from outside.

use std::{fmt, sync::Arc};

use serde_json::json;

use super::{
    ToolResult,
    change::Change,
    offers::{Prompt, Run, Tool, at_once},
    shared::Shared,
};

/// Changes and watches a [`TestServer`](crate::TestServer) while it runs.
#[derive(Clone)]
pub struct TestServerHandle {
    pub(super) shared: Arc<Shared>,
}

impl TestServerHandle {
    /// Adds or replaces a tool, and tells clients that the list changed.
    pub fn add_tool<F>(&self, name: impl Into<String>, run: F)
    where
        F: Fn(serde_json::Value) -> ToolResult + Send + Sync + 'static,
    {
        let tool = Tool::new(name.into(), json!({"type": "object"}), Run::Work(at_once(run)));
        self.shared.offers().put_tool(tool);
        self.shared.tell(Change::Tools);
    }

    /// Removes a tool, and tells clients that the list changed.
    pub fn remove_tool(&self, name: &str) {
        self.shared.offers().remove_tool(name);
        self.shared.tell(Change::Tools);
    }

    /// Tells clients that subscribed to it that a resource changed.
    pub fn notify_updated(&self, uri: impl Into<String>) {
        self.shared.tell(Change::Updated(uri.into()));
    }

    /// Sends a notification of any method to all clients, whatever else they do.
    pub fn notify(&self, method: impl Into<String>, params: serde_json::Value) {
        self.shared.tell(Change::Other { method: method.into(), params });
    }

    /// Changes the text of a resource, and tells clients that subscribed to it.
    pub fn set_resource(&self, uri: impl Into<String>, text: impl Into<String>) {
        let uri = uri.into();
        self.shared.put_text(uri.clone(), text.into());
        self.notify_updated(uri);
    }

    /// Adds or replaces a resource, and tells clients that the list changed.
    pub fn add_resource(&self, uri: impl Into<String>, text: impl Into<String>) {
        self.shared.put_text(uri.into(), text.into());
        self.shared.tell(Change::Resources);
    }

    /// Adds or replaces a prompt without arguments, and tells clients that the list changed.
    pub fn add_prompt(&self, name: impl Into<String>, text: impl Into<String>) {
        let text: serde_json::Value = text.into().into();
        let get = at_once(move |_| Ok(text.clone()));
        self.shared.offers().put_prompt(Prompt { name: name.into(), required: Vec::new(), get });
        self.shared.tell(Change::Prompts);
    }

    /// Everything that arrived so far, as it arrived; of what was no message, the beginning.
    pub fn received(&self) -> Vec<String> {
        self.shared.received()
    }

    /// How many messages with this method arrived so far.
    pub fn count(&self, method: &str) -> usize {
        let is_it = |text: &&String| {
            serde_json::from_str::<serde_json::Value>(text).is_ok_and(|message| message["method"] == method)
        };
        self.received().iter().filter(is_it).count()
    }

    /// How many legacy HTTP sessions there are.
    pub fn sessions(&self) -> usize {
        self.shared.sessions().len()
    }

    /// Forgets all legacy HTTP sessions: their clients get 404 and have to initialize again.
    pub fn expire_sessions(&self) {
        self.shared.sessions().clear();
    }
}

impl fmt::Debug for TestServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServerHandle").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
