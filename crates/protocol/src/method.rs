//! Method names.

pub const INITIALIZE: &str = "initialize";
pub const PING: &str = "ping";
pub const DISCOVER: &str = "server/discover";
pub const LISTEN: &str = "subscriptions/listen";
pub const TOOLS_LIST: &str = "tools/list";
pub const TOOLS_CALL: &str = "tools/call";
pub const RESOURCES_LIST: &str = "resources/list";
pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
pub const RESOURCES_READ: &str = "resources/read";
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
pub const PROMPTS_LIST: &str = "prompts/list";
pub const PROMPTS_GET: &str = "prompts/get";
pub const COMPLETE: &str = "completion/complete";
pub const SET_LEVEL: &str = "logging/setLevel";
pub const TASKS_GET: &str = "tasks/get";
pub const TASKS_UPDATE: &str = "tasks/update";
pub const TASKS_CANCEL: &str = "tasks/cancel";
pub const TASKS_RESULT: &str = "tasks/result";
pub const ELICIT: &str = "elicitation/create";
pub const SAMPLE: &str = "sampling/createMessage";
pub const ROOTS_LIST: &str = "roots/list";

pub const INITIALIZED: &str = "notifications/initialized";
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
pub const CANCELLED: &str = "notifications/cancelled";
pub const PROGRESS: &str = "notifications/progress";
pub const LOG_MESSAGE: &str = "notifications/message";
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
pub const TASK_CHANGED: &str = "notifications/tasks";
pub const TASK_STATUS: &str = "notifications/tasks/status";
pub const LISTEN_ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// What most messages are.
const FREQUENT: [&str; 4] = [TOOLS_CALL, PROGRESS, RESOURCES_READ, PROMPTS_GET];

/// A frequent method that is written like this.
pub(crate) fn frequent(written: &[u8]) -> Option<&'static str> {
    FREQUENT.into_iter().find(|method| method.as_bytes() == written)
}
/// How the methods of notifications between parts of Toolbay begin.
pub const OURS: &str = "notifications/toolbay/";
