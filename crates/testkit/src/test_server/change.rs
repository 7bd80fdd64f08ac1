//! What a server tells its clients unasked.

use serde_json::{Value, json};
use toolbay_protocol::{Rope, meta, method, notification};

/// Something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Tools,
    /// The list of resources, or of templates.
    Resources,
    Prompts,
    /// The text of one resource.
    Updated(String),
    /// Something that is no change at all: a notification of any method.
    Other {
        method: String,
        params: Value,
    },
}

impl Change {
    /// The notification; with modern revisions it has the id of its subscription.
    pub(super) fn notification(&self, subscription: Option<&Value>) -> Rope {
        let (method, mut params) = match self {
            Self::Tools => (method::TOOLS_CHANGED, json!({})),
            Self::Resources => (method::RESOURCES_CHANGED, json!({})),
            Self::Prompts => (method::PROMPTS_CHANGED, json!({})),
            Self::Updated(uri) => (method::RESOURCE_UPDATED, json!({"uri": uri})),
            Self::Other { method, params } => (method.as_str(), params.clone()),
        };
        if let Some(id) = subscription {
            params["_meta"] = json!({meta::SUBSCRIPTION_ID: id});
        }
        let params = params.to_string();
        notification(method, (params != "{}").then_some(params.as_str())).into()
    }
}
