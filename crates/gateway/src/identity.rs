//! As whom a gateway presents itself.

use serde_json::Value;

/// One server with a gateway of its own: clients see that server, and nothing of a hub.
#[derive(Debug, Clone)]
pub struct GatewayIdentity {
    /// Its name and version, as in `serverInfo`.
    pub server_info: Value,
    /// What it can do.
    pub capabilities: Value,
    /// What it tells models about itself.
    pub instructions: Option<String>,
    /// What `GET /health` says.
    pub health: Value,
}
